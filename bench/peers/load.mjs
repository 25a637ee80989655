// For peers that are asked by a library: clients in one process, each doing one operation after the
// other, for the seconds on a line of standard input; the answer is a line of JSON.
// `operation(client, timed)` returns how many it did; `timed(promise)` is for the calls whose
// latency counts.
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
