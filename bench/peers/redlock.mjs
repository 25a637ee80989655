// Takes and releases locks through node-redlock: CLIENTS REDIS_PORT. Each client has a lock of its own.
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { serve } from './load.mjs';

const [clients, port] = process.argv.slice(2).map(Number);
const redlock = new Redlock([new Redis({ port, enableAutoPipelining: true })]);

await serve(clients, async (client, timed) => {
	const lock = await timed(redlock.lock(`redlock:${client}`, 30000));
	await timed(lock.unlock());
	return 1;
});
