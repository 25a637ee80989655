// A rate decision in Node.js: PORT REDIS_PORT SHA. /ratelimit runs the script, /flexible asks
// rate-limiter-flexible.
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

const [port, redisPort, sha] = process.argv.slice(2);
const redis = new Redis({ port: Number(redisPort), enableAutoPipelining: true });
const app = fastify();
const limiters = new Map();

const integer = { type: 'integer' };
const asked = {
	type: 'object',
	required: ['key', 'limit', 'window_ms', 'cost', 'burst'],
	properties: { key: { type: 'string' }, limit: integer, window_ms: integer, cost: integer, burst: integer },
};
const answer = {
	type: 'object',
	properties: {
		allowed: { type: 'boolean' }, limit: integer, window_ms: integer, capacity: integer, remaining: integer,
		retry_after_ms: { type: ['integer', 'null'] }, reset_after_ms: integer,
	},
};
const schema = { body: asked, response: { 200: answer, 429: answer } };

app.post('/ratelimit', { schema }, async (request, reply) => {
	const { key, limit, window_ms, cost, burst } = request.body;
	const [allowed, now, capacity, remaining, retryAt, resetAt] = await redis.evalsha(
		sha, 1, `p:limit:{${key}}:@:gcra`, limit, window_ms, cost, burst, 'ratelimit_gcra');
	reply.code(allowed ? 200 : 429);
	return {
		allowed: allowed === 1, limit, window_ms, capacity, remaining, reset_after_ms: resetAt - now,
		retry_after_ms: retryAt < 0 ? null : retryAt - now,
	};
});

// There is one limiter for each limit and window, which is reused.
function limiter(points, duration) {
	const name = `${points}/${duration}`;
	if (!limiters.has(name))
		limiters.set(name, new RateLimiterRedis({ storeClient: redis, points, duration }));
	return limiters.get(name);
}

app.post('/flexible', { schema }, async (request, reply) => {
	const { key, limit, window_ms, cost } = request.body;
	const said = await limiter(limit, window_ms / 1000).consume(key, cost).catch((refused) => refused);
	if (said instanceof Error)
		throw said;
	const allowed = said.consumedPoints <= limit;
	reply.code(allowed ? 200 : 429);
	return {
		allowed, limit, window_ms, capacity: limit, remaining: said.remainingPoints,
		reset_after_ms: said.msBeforeNext, retry_after_ms: allowed ? null : said.msBeforeNext,
	};
});

await app.listen({ host: '127.0.0.1', port: Number(port) });
