// Pushes, moves and removes elements of a Redis list: CLIENTS BATCH REDIS_PORT BODY. Each client
// has its own list of the elements that it works on. A batch is one command to push, and a pipeline
// of moves.
import assert from 'node:assert';
import { Redis } from 'ioredis';
import { serve } from './load.mjs';

const [clients, batch, port] = process.argv.slice(2, 5).map(Number);
const body = process.argv[5];
const redis = new Redis({ port, enableAutoPipelining: true });
const name = `bench-${clients}-${batch}`;
const bodies = new Array(batch).fill(body);

async function one(client, timed) {
	await timed(redis.lpush(name, body));
	const element = await timed(redis.lmove(name, `${name}:${client}`, 'RIGHT', 'LEFT'));
	await timed(redis.lrem(`${name}:${client}`, 1, element));
	return element;
}

async function many(client, timed) {
	const moves = redis.pipeline();
	for (let i = 0; i < batch; i++)
		moves.lmove(name, `${name}:${client}`, 'RIGHT', 'LEFT');
	await timed(redis.lpush(name, bodies));
	const moved = await timed(moves.exec());
	await timed(redis.del(`${name}:${client}`));
	return moved[batch - 1][1];
}

const cycle = batch === 1 ? one : many;
assert.equal(await cycle(0, (call) => call), body);
await serve(clients, async (client, timed) => {
	await cycle(client, timed);
	return batch;
});
