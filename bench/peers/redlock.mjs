// Acquires and releases locks through node-redlock: CLIENTS REDIS_PORT. Each client has its own
// lock.
import assert from 'node:assert';
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { serve } from './load.mjs';

const [clients, port] = process.argv.slice(2).map(Number);
const redis = new Redis({ port, enableAutoPipelining: true });
const redlock = new Redlock([redis]);

const tried = await redlock.lock('redlock:tried', 30000);
await assert.rejects(new Redlock([redis], { retryCount: 0 }).lock('redlock:tried', 30000));
await tried.unlock();

await serve(clients, async (client, timed) => {
	const lock = await timed(redlock.lock(`redlock:${client}`, 30000));
	await timed(lock.unlock());
	return 1;
});
