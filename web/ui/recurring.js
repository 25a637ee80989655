// The schedules of all queues, the soonest first.
import { list, path } from './api.js';
import { el, nothing, route } from './dom.js';
import { number, plural } from './format.js';
import { dueNote, timesAndZone } from './schedules.js';
import { table } from './table.js';

const AT_ONCE = 4; // requests
const EACH = 200; // schedules of a queue

/** #/schedules */
export function open(page) {
	const shown = table({
		label: 'Schedules of all queues',
		key: ({ queue, id }) => JSON.stringify([queue, id]),
		columns: [
			{
				title: 'Schedule',
				kind: 'head',
				text: (one) => one.id,
				link: (one) => route('queues', one.queue, 'schedules', one.id),
				sort: (one) => one.id,
			},
			{
				title: 'Queue',
				kind: 'head',
				text: (one) => one.queue,
				link: (one) => route('queues', one.queue, 'schedules'),
				sort: (one) => one.queue,
			},
			{ title: 'Times', kind: 'long', text: timesAndZone },
			{ title: 'Next', kind: 'when', time: (one) => one.next_at_ms, sort: (one) => one.next_at_ms },
			{
				title: 'That is',
				kind: 'note',
				make: () => dueNote(({ isPaused }) => isPaused),
				sort: (one) => one.next_at_ms,
			},
			{ title: 'Last', kind: 'when', time: (one) => one.last_at_ms, sort: (one) => one.last_at_ms },
			...['Sent', 'Missed', 'Skipped'].map((title) => ({
				title,
				number: true,
				text: (one) => number(one[title.toLowerCase()]),
				sort: (one) => one[title.toLowerCase()],
			})),
		],
	});
	const part = el('p', { class: 'muted', hidden: true });
	const none = nothing('No queue has a schedule.');
	page.root.append(shown.node, part, none);

	async function of(queue, found, cut) {
		try {
			const { items, next_cursor: next } = await page.ask(
				'GET',
				`${path('queues', queue.name, 'schedules')}?limit=${EACH}`,
			);
			found.push(...items.map((one) => ({ ...one, queue: queue.name, isPaused: queue.paused })));
			if (next) cut.add(queue.name);
		} catch (error) {
			if (page.signal.aborted || !error.said) throw error;
			cut.add(queue.name);
		}
	}

	return async () => {
		const queues = await list('/queues', {
			name: (one) => one.name,
			keep: (one) => one.next_schedule_at_ms !== null,
			pages: 20,
			signal: page.signal,
		});
		const found = [];
		const cut = new Set();
		const left = [...queues.items];
		const work = async () => {
			for (let one = left.shift(); one; one = left.shift()) await of(one, found, cut);
		};
		await Promise.all(Array.from({ length: AT_ONCE }, work));
		found.sort((a, b) => a.next_at_ms - b.next_at_ms);
		shown.show(found);
		shown.node.hidden = found.length === 0;
		part.hidden = !queues.more && cut.size === 0;
		part.textContent = [
			queues.more ? 'There are more queues than were read.' : '',
			cut.size ? `Not all schedules of ${plural(cut.size, 'queue')} are here: ${[...cut].join(', ')}.` : '',
		].join(' ');
		none.hidden = found.length > 0 || !part.hidden;
	};
}
