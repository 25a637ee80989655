// For peers with a client library. All clients run in one process, and each does one operation
// after the other. A line of standard input has the number of seconds, and the answer is a line of
// JSON. `operation(client, timed)` returns how many operations it did. `timed(promise)` measures
// the latency of a call.
import { createInterface } from 'node:readline';

export async function serve(clients, operation) {
	let latencies;

	async function timed(call) {
		const begun = performance.now();
		const result = await call;
		latencies.push(performance.now() - begun);
		return result;
	}

	for await (const line of createInterface({ input: process.stdin })) {
		const begun = performance.now();
		const end = begun + Number(line) * 1000;
		let operations = 0;
		latencies = [];
		await Promise.all(Array.from({ length: clients }, async (_, client) => {
			while (performance.now() < end) {
				const done = await operation(client, timed);
				operations += done;
			}
		}));
		const seconds = (performance.now() - begun) / 1000;
		const sorted = Float64Array.from(latencies).sort();
		const at = (share) => sorted[Math.floor(sorted.length * share)] * 1000;
		console.log(JSON.stringify({ operations, seconds, p50_us: at(0.5), p99_us: at(0.99) }));
	}
	process.exit(0);
}
