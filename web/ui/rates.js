// How many messages per minute come into a queue and leave it, from two looks of this page.
import { number } from './format.js';
import { now } from './now.js';
import { total } from './queue_actions.js';

const SPAN_MS = 60000;

export class Rates {
	constructor() {
		this.looks = []; // {at, queues: name to {sent, left}}, the earliest first
	}

	add(queues) {
		const at = now();
		const figures = queues.map((one) => [one.name, { sent: one.sent, left: one.sent - total(one) }]);
		this.looks.push({ at, queues: new Map(figures) });
		while (this.looks.length > 2 && this.looks[1].at < at - SPAN_MS) this.looks.shift();
	}

	/**
	 * `what` is 'sent' or 'left': acknowledged, expired, deleted. Returns null until a minute
	 * was observed.
	 */
	of(name, what) {
		const last = this.looks.at(-1);
		const first = this.looks.find(({ queues }) => queues.has(name));
		if (!first || last.at - first.at < SPAN_MS) return null;
		const change = last.queues.get(name)[what] - first.queues.get(name)[what];
		return change < 0 ? null : (change * SPAN_MS) / (last.at - first.at); // < 0: deleted and made again
	}

	words(name, what) {
		const rate = this.of(name, what);
		return rate === null ? '–' : number(Math.round(rate));
	}
}
