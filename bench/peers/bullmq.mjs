// Adds jobs to BullMQ and processes them in the same process: CLIENTS BATCH CONCURRENCY SETUP
// REDIS_PORT BODY. BATCH is the number of jobs per call, CONCURRENCY the number of jobs that the
// worker processes at once. A client adds jobs again when its earlier ones are done, so that both
// sides are as fast as the slower one. SETUP is `defaults`, or `best`: the options that make it
// fastest. Automatic pipelining is not among them, because BullMQ is slower with it.
import assert from 'node:assert';
import { Queue, Worker } from 'bullmq';
import { serve } from './load.mjs';

const [clients, batch, concurrency] = process.argv.slice(2, 5).map(Number);
const isBest = process.argv[5] === 'best';
const data = JSON.parse(process.argv[7]);
const connection = { port: Number(process.argv[6]) };
// Without removeOnComplete all finished jobs stay in Redis.
const opts = isBest ? { removeOnComplete: true } : {};
const ofWorker = isBest ? { skipLockRenewal: true, skipStalledCheck: true } : {};
const name = `bench-${clients}-${batch}-${process.argv[5]}`;
const queue = new Queue(name, { connection });
const left = new Array(clients).fill(0); // jobs of a client that are not done yet
const whenDone = [];

const worker = new Worker(name, async () => {}, { connection, concurrency, ...ofWorker });
worker.once('completed', (job) => assert.deepEqual(job.data, { ...data, client: job.data.client }));
worker.on('completed', (job) => {
	if (--left[job.data.client] === 0)
		whenDone[job.data.client]();
});

await serve(clients, async (client, timed) => {
	const job = { name: 'job', data: { ...data, client }, opts };
	const done = new Promise((resolve) => { whenDone[client] = resolve; });
	left[client] = batch;
	await timed(batch === 1 ? queue.add(job.name, job.data, opts) : queue.addBulk(new Array(batch).fill(job)));
	await done;
	return batch;
});
