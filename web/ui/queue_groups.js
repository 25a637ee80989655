// The groups of a queue: how many messages each has and why it waits; pause, redrive and purge.
import { path } from './api.js';
import { askUser, durationField } from './dialog.js';
import { buttons, el, moment, setText } from './dom.js';
import { duration, expiry, number, parseDuration } from './format.js';
import { now } from './now.js';
import { ANY, askPurge, redriven, STATES, total, words } from './queue_actions.js';
import { cursorTable, ROWS } from './table.js';

const COUNTED = 500; // messages that are read, at most, to count the messages of a group
const WHY = {
	in_flight: 'as many as allowed are in flight',
	backoff: 'a failed message is retried first',
	limited: 'its rate has no room',
	paused: 'paused',
};

/**
 * {node, look()} of the queue whose path is `at`; hidden while it has no group. queue() answers the
 * queue of the latest look.
 */
export function groupsOf(page, at, queue) {
	const shown = cursorTable(
		{ label: 'Groups', key: ({ group }) => group, columns: columnsOf(page, at, queue) },
		(cursor) => {
			const query = new URLSearchParams({ limit: ROWS, ...(cursor && { cursor }) });
			return page.ask('GET', `${at}/groups?${query}`);
		},
		() => page.refresh(),
	);
	let hasSome = false; // a later page may be empty
	const node = el('section', { class: 'stack tight', hidden: true }, el('h2', {}, 'Groups'), shown.node);
	return {
		node,
		async look() {
			const items = await shown.look();
			hasSome ||= items?.length > 0;
			node.hidden = !hasSome;
		},
	};
}

function columnsOf(page, at, queue) {
	const offered = buttons(
		{
			label: 'Pause',
			about: ({ group }) => group,
			when: ({ reason }) => reason !== 'paused',
			act: ({ group }) => pause(page, at, group),
		},
		{
			label: 'Resume',
			about: ({ group }) => group,
			when: ({ reason }) => reason === 'paused',
			act: ({ group }) => resume(page, at, group),
		},
		{
			label: 'Redrive',
			about: ({ group }) => group,
			when: () => queue().dead > 0,
			act: ({ group }) => redrive(page, at, group),
		},
		{
			label: 'Purge',
			about: ({ group }) => group,
			danger: true,
			when: () => total(queue()) > 0,
			act: (one) => purge(page, at, one),
		},
	);
	return [
		{ title: 'Group', kind: 'id', text: ({ group }) => group },
		{ title: 'Ready', number: true, text: ({ ready }) => number(ready) },
		{ title: 'Blocked', number: true, text: ({ blocked }) => number(blocked) },
		{ title: 'In flight', number: true, text: (one) => number(one.in_flight) },
		{ title: 'Oldest', kind: 'when', time: ({ oldest_at_ms: sent }) => sent, words: age },
		{ title: 'Waits because', kind: 'wide', make: reason },
		...(page.write ? [{ title: '', kind: 'actions', make: offered }] : []),
	];
}

const age = (sent) => `sent ${duration(now() - sent)} ago`;

/** Why none of its messages can be received, and when that ends by itself. */
function reason() {
	const why = el('span');
	const end = moment((until) => `, ends ${expiry(until)}`, '');
	return {
		node: el('span', {}, why, end.node),
		update(one) {
			setText(why, one.reason === null ? '–' : (WHY[one.reason] ?? one.reason));
			end.update(one.reason === null ? null : one.until_ms);
		},
	};
}

async function pause(page, at, group) {
	const said = await askUser({
		title: `Pause the group '${group}'?`,
		go: 'Pause',
		text: 'None of its messages is delivered until then; sending goes on.',
		fields: [
			durationField({
				name: 'duration',
				label: 'For how long',
				ms: 60000,
				min: 1,
				max: 366 * 86400000,
			}),
		],
	});
	if (said)
		await page.act(
			'POST',
			`${at}${path('groups', group)}/pause`,
			{ for_ms: parseDuration(said.duration) },
			(changed) => `'${group}' is paused, ends ${expiry(changed.until_ms)}.`,
		);
}

async function resume(page, at, group) {
	await page.act('POST', `${at}${path('groups', group)}/resume`, undefined, () => `'${group}' continues.`);
}

/**
 * How many messages in a state a group has: {count, more}, where `more` means at least so many. The
 * list of groups counts no delayed and dead ones, so the first messages of the queue are read.
 */
async function countIn(page, at, group, state) {
	try {
		const { items, next_cursor: next } = await page.ask('GET', `${at}/messages?state=${state}&limit=${COUNTED}`);
		return { count: items.filter((one) => one.group === group).length, more: next !== null };
	} catch {
		return { count: 0, more: true };
	}
}

const inWords = ({ count, more }) => `${more ? 'at least ' : ''}${number(count)}`;

async function redrive(page, at, group) {
	const dead = inWords(await countIn(page, at, group, 'dead'));
	if (page.signal.aborted) return;
	const said = await askUser({
		title: `Redrive the group '${group}'?`,
		go: 'Redrive',
		keep: 'Keep them dead',
		text: `Dead letters of the group: ${dead}. They become ready, 1,000 at most.`,
	});
	if (said) await page.act('POST', `${at}/redrive`, { group }, redriven);
}

async function purge(page, at, one) {
	const { group } = one;
	const counts = {
		...Object.fromEntries(STATES.map((state) => [state, { count: one[state], more: false }])),
		delayed: await countIn(page, at, group, 'delayed'),
		dead: await countIn(page, at, group, 'dead'),
	};
	if (page.signal.aborted) return;
	const all = Object.values(counts).reduce((sum, { count, more }) => ({
		count: sum.count + count,
		more: sum.more || more,
	}));
	const choice = (value, text, count) => ({ value, text: `${text} (${inWords(count)})` });
	const choices = [
		{ value: '', text: 'choose which' },
		...STATES.map((state) => choice(state, words(state), counts[state])),
		choice(ANY, 'in any state', all),
	];
	await askPurge(page, at, {
		title: `Purge the group '${group}'?`,
		text: 'Only messages of this group are removed. They cannot be restored.',
		choices,
		part: { group },
	});
}
