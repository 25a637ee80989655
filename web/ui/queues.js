// Queues: how deep they are, how old their oldest message is, and how they change.
import { Gone } from './api.js';
import { buttons, el, keyed, moment, route, setText } from './dom.js';
import { duration, number, plural } from './format.js';
import { listing } from './listing.js';
import { now } from './now.js';
import { openMessage } from './messages.js';
import { openOne } from './queue.js';
import { actions, make, pauseWords, STATES, words } from './queue_actions.js';
import { Rates } from './rates.js';
import { dueOrExpiry, isLate, openSchedules } from './schedules.js';
import { table } from './table.js';
import { openWorkers } from './workers.js';

const title = (state) => words(state).replace(/^./, (first) => first.toUpperCase());
const RATES = [
	['In / min', 'sent'],
	['Out / min', 'left'],
];

export function open(page) {
	const [name, what, id] = page.names;
	if (what === 'schedules') return openSchedules(page, name, id);
	if (what === 'workers') return openWorkers(page, name);
	if (what === 'messages' && id !== undefined) return openMessage(page, name, id);
	return page.names.length ? openOne(page, name, what) : openAll(page);
}

const age = ({ oldest_ready_ms: ms }) => (ms === null ? '–' : duration(ms));

function openAll(page) {
	const rates = new Rates();
	const all = table({
		label: 'Queues',
		key: (queue) => queue.name,
		turn: (by) => look.turn(by),
		columns: [
			{
				title: 'Queue',
				kind: 'head',
				make: heading,
				sort: (queue) => queue.name,
			},
			...STATES.map((state) => ({
				title: title(state),
				number: true,
				make: () => count(state),
				sort: (queue) => queue[state],
			})),
			{ title: 'Oldest', number: true, text: age, sort: (queue) => queue.oldest_ready_ms },
			...RATES.map(([heading, what]) => ({
				title: heading,
				number: true,
				text: (queue) => rates.words(queue.name, what),
				sort: (queue) => rates.of(queue.name, what),
			})),
			{
				title: 'Next schedule',
				number: true,
				kind: 'due',
				make: nextSchedule,
				sort: ({ next_schedule_at_ms: next }) => -(next ?? Infinity), // the soonest first
			},
			...(page.write ? [{ title: '', kind: 'actions few', make: buttons(...actions(page)) }] : []),
		],
	});
	const sums = el('dl', { class: 'tiles narrow', 'aria-label': 'Sums' });
	const part = el('p', { class: 'muted', hidden: true });
	page.root.append(sums, part);
	let listed = [];
	let isPart = false;
	const look = listing(page, {
		what: 'queues',
		where: '/queues',
		name: (one) => one.name,
		open: (name) => route('queues', name),
		shown: {
			node: all.node,
			show(items, around) {
				rates.add(items);
				all.show(items, around);
				listed = items;
				isPart = Boolean(around.more || around.before);
			},
		},
		none: 'No queue has been used.',
		make: make('example'),
	});
	return async () => {
		await look();
		const known = isPart ? await sumsOfAll(page) : null;
		sums.hidden = listed.length === 0;
		keyed(sums, known ?? totals(listed, isPart), ([name]) => name, tile);
		part.hidden = !isPart;
		const whose = known ? 'The sums are of all queues. ' : '';
		const those = `${plural(listed.length, 'queue')} of ${known ? known[0][1] : 'more'}`;
		setText(part, `${whose}The table has ${those}, and sorts these. The overview finds the worst of all.`);
	};
}

/** The sums of all queues, of which the list has a part; null where the token may not have them. */
async function sumsOfAll(page) {
	try {
		const { queues, complete } = await page.ask('GET', '/overview?limit=1');
		if (!queues) return null;
		const least = complete ? '' : 'at least ';
		return [['Queues', 'count'], ...STATES.map((state) => [title(state), state]), ['Paused', 'paused']]
			.filter(([, of]) => of in queues)
			.map(([name, of]) => [name, `${least}${number(queues[of])}`]);
	} catch (error) {
		if (error instanceof Gone) throw error;
		return null;
	}
}

/** The name, and whether the queue is paused. */
function heading() {
	const link = el('a');
	const badge = el('span', { class: 'badge paused' });
	return {
		node: el('span', {}, link, ' ', badge),
		update(queue) {
			setText(link, queue.name);
			link.setAttribute('href', route('queues', queue.name));
			badge.hidden = !queue.paused;
			setText(badge, pauseWords(queue));
		},
	};
}

/** How long it is until a schedule sends, or for how long it has been due. */
function nextSchedule() {
	const { node, update } = moment(dueOrExpiry);
	return {
		node,
		update({ next_schedule_at_ms: next }) {
			update(next);
			node.className = next !== null && isLate(next) ? 'late' : '';
		},
	};
}

function count(state) {
	const node = el('span');
	return {
		node,
		update: (queue) => {
			setText(node, number(queue[state]));
			node.className = queue[state] ? `count ${state}` : 'nought';
		},
	};
}

function totals(items, isPart) {
	const oldest = items.reduce((most, one) => Math.max(most, one.oldest_ready_ms ?? -1), -1);
	return [
		['Queues', number(items.length)],
		...STATES.map((state) => [title(state), number(items.reduce((sum, one) => sum + one[state], 0))]),
		['Oldest ready', oldest < 0 ? '–' : duration(oldest)],
		['Paused', number(items.filter((one) => one.paused).length)],
	].map(([name, value]) => [isPart ? `${name} (of these)` : name, value]);
}

function tile([name]) {
	const value = el('dd');
	return { node: el('div', {}, el('dt', {}, name), value), update: (pair) => setText(value, pair[1]) };
}
