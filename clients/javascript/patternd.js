/**
 * Client of patternd: locks, queues, rate limits and caches in Redis, over HTTP/JSON. Types and
 * descriptions are in patternd.d.ts.
 */
export { Client } from './client.js';
export { Hold } from './hold.js';
export { Lock } from './lock.js';
export { Message } from './message.js';
export { LockHeld, LockLost, Problem } from './problem.js';
export { Queue } from './queue.js';
export { Listener } from './topics.js';
