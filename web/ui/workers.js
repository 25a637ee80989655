// The workers of a queue, which its receives name, and what they have in flight.
import { path } from './api.js';
import { back, el, nothing, setText } from './dom.js';
import { duration, number, plural } from './format.js';
import { now } from './now.js';
import { sample } from './sample.js';
import { table } from './table.js';

const ABSENT_MS = 600_000; // since its last receive
const isAbsent = ({ last_receive_at_ms: last, in_flight: flight }) => flight === 0 && now() - last > ABSENT_MS;
const forHowLong = (ms) => duration(Math.max(0, now() - ms));
const ago = (ms) => `${forHowLong(ms)} ago`;

export const readWorkers = (page, at) => page.ask('GET', `${at}/workers`);

/** How many workers there are, for the page of the queue. */
export function workersInWords({ workers }) {
	const present = workers.filter((one) => !isAbsent(one));
	if (present.length === 0) return workers.length ? 'none for ten minutes' : 'none in the last hour';
	const named = present.filter(({ worker }) => worker !== null).length;
	if (named < present.length) return named ? `${number(named)}, and some without a name` : 'some without a name';
	return number(named);
}

const COLUMNS = [
	{
		title: 'Worker',
		kind: 'head',
		text: ({ worker }) => worker ?? 'without a name',
		sort: ({ worker }) => worker,
	},
	{
		title: 'Last receive',
		kind: 'when',
		time: (one) => one.last_receive_at_ms,
		words: ago,
		none: 'not in the last hour',
		sort: (one) => one.last_receive_at_ms,
	},
	{ title: 'In flight', number: true, text: (one) => number(one.in_flight), sort: (one) => one.in_flight },
	{
		title: 'Has the oldest for',
		kind: 'when',
		time: (one) => one.oldest_received_at_ms,
		words: forHowLong,
		sort: (one) => one.oldest_received_at_ms,
	},
	{
		title: 'First receive',
		kind: 'when',
		time: (one) => one.first_receive_at_ms,
		sort: (one) => one.first_receive_at_ms,
	},
];

/** #/queues/NAME/workers */
export function openWorkers(page, name) {
	const at = path('queues', name);
	const shown = table({ label: 'Workers', key: ({ worker }) => JSON.stringify(worker), columns: COLUMNS });
	const words = el('p', { role: 'status' });
	const part = el(
		'p',
		{ class: 'muted', hidden: true },
		'More than 1,000 messages are in flight. The numbers are of those whose visibility ends first.',
	);
	const none = nothing(
		'No worker received from this queue in the last hour.',
		sample('POST', `${at}/receive`, { wait_ms: 20000, worker: 'host-1/4711' }),
	);
	page.root.append(
		back(['queues', name], `The queue ${name}`),
		el('h2', {}, 'Workers'),
		words,
		shown.node,
		part,
		none,
	);
	return async () => {
		const answer = await readWorkers(page, at);
		const { workers, is_complete: isComplete } = answer;
		const absent = workers.filter(isAbsent).length;
		setText(
			words,
			[
				workers.length && `Now: ${workersInWords(answer)}.`,
				absent && `Ten minutes without a receive and without a message: ${plural(absent, 'worker')}.`,
			]
				.filter(Boolean)
				.join(' '),
		);
		shown.show(workers);
		part.hidden = isComplete;
		none.hidden = workers.length > 0;
		shown.node.hidden = workers.length === 0;
	};
}
