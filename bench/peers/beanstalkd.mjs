// Puts, reserves and deletes jobs of beanstalkd through jackd, a connection for each client:
// CLIENTS PORT BODY.
import assert from 'node:assert';
import Jackd from 'jackd';
import { serve } from './load.mjs';

const [clients, port] = process.argv.slice(2, 4).map(Number);
const body = process.argv[4];
const connections = await Promise.all(
	Array.from({ length: clients }, () => new Jackd().connect({ host: '127.0.0.1', port })));

for (const connection of connections)
	connection.socket.setNoDelay(); // jackd sends a job in two parts: the second would wait

async function triple(connection, timed) {
	await timed(connection.put(body));
	const job = await timed(connection.reserve());
	await timed(connection.delete(job.id));
	return job;
}

assert.equal(String((await triple(connections[0], (call) => call)).payload), body);
await serve(clients, async (client, timed) => {
	await triple(connections[client], timed);
	return 1;
});
