// One queue: its depth over time, its messages by state, and its settings.
import { isListed, path } from './api.js';
import { askUser, durationField } from './dialog.js';
import { back, buttons, el, facts, setText, route } from './dom.js';
import { duration, number, parseDuration, plural } from './format.js';
import { growth, historyOf, lately } from './history.js';
import { messagesOf } from './messages.js';
import { SPANS } from './plot.js';
import {
	actions,
	asListed,
	commands,
	make,
	pauseWords,
	runAll,
	settingsOf,
	STATES,
	total,
	words,
} from './queue_actions.js';
import { groupsOf } from './queue_groups.js';
import { dueOrExpiry, schedulesOf } from './schedules.js';
import { notJson } from './topics.js';
import { readWorkers, workersInWords } from './workers.js';

const left = (queue) => queue.sent - total(queue); // acknowledged, expired, deleted
const failed = (queue) => queue.rejected + queue.timed_out; // deliveries
const MINUTE_MS = 60000;

const PLOTS = [
	{
		title: 'Depth',
		series: STATES.map((one) => ({ label: words(one), colour: one, of: (sample) => sample[one] })),
	},
	{
		title: 'Messages per minute',
		text: (value) => (value === null || value === undefined ? '–' : number(Math.round(value))),
		series: [
			{ label: 'in', colour: 'accent', of: growth((one) => one.sent, MINUTE_MS) },
			{ label: 'out', colour: 'muted', of: growth(left, MINUTE_MS) },
			{ label: 'failed', colour: 'delayed', of: growth(failed, MINUTE_MS) },
			{ label: 'died', colour: 'dead', of: growth((one) => one.died, MINUTE_MS) },
		],
	},
	{
		title: 'Age of the oldest ready message',
		text: (ms) => (ms === null || ms === undefined ? '–' : duration(ms)),
		steps: SPANS,
		series: [{ label: 'due for', colour: 'accent', fill: true, of: (one) => one.oldest_ready_ms ?? 0 }],
	},
];

export function openOne(page, name, state) {
	const at = path('queues', name);
	let latest = { name };
	const bar = buttons(
		{ label: 'Send a message', about: () => `to ${name}`, act: () => send(page, at) },
		...actions(page),
		{
			label: 'Run delayed now',
			about: () => name,
			when: (queue) => queue.delayed > 0,
			act: (queue) => runAll(page, queue),
		},
		{
			label: 'Delete queue',
			about: () => name,
			danger: true,
			act: () => remove(page, at, latest),
		},
	)(() => latest);
	const how = commands();
	const badge = el('span', { class: 'badge paused', hidden: true });
	const about = facts('Queue');
	const settings = settingsOf(page, name);
	const past = historyOf(page, at, PLOTS);
	const messages = messagesOf(page, name, () => latest, (state) => tabs.mark(state));
	const groups = groupsOf(page, at, () => latest);
	const schedules = schedulesOf(page, name, () => latest.paused);
	let hasSchedules = false; // a later page may be empty
	const recurring = el(
		'section',
		{ class: 'stack tight', hidden: true },
		el('h2', {}, 'Schedules'),
		schedules.node,
	);
	const tabs = stateTabs(STATES.includes(state) ? state : 'ready', (one) => {
		history.replaceState(null, '', route('queues', name, one));
		messages.choose(one);
	});
	messages.choose(tabs.chosen());
	page.root.append(
		el(
			'div',
			{ class: 'buttons' },
			back('queues', 'All queues'),
			el('a', { class: 'small', href: route('queues', name, 'workers') }, 'Workers'),
			el('a', { class: 'small', href: route('queues', name, 'schedules') }, 'Schedules'),
			badge,
		),
		page.write ? bar.node : how.node,
		about.node,
		past.node,
		el('h2', {}, 'Messages'),
		el('div', { class: 'between' }, tabs.node, messages.search),
		messages.node,
		groups.node,
		recurring,
		el('h2', {}, 'Settings'),
		settings.node,
	);
	return async () => {
		const queue = await page.one(at, {
			what: 'queue',
			name,
			list: 'queues',
			make: make(name),
			exists: async (found) => isUsed(found) || (await isListed('/queues', name, page.signal)),
		});
		if (!queue) return;
		latest = asListed(queue);
		badge.hidden = !latest.paused;
		setText(badge, `${pauseWords(latest)}: it delivers no message`);
		bar.update(latest);
		how.show(latest, tabs.chosen());
		tabs.show(queue);
		settings.show(queue);
		const samples = await past.look();
		const workers = await readWorkers(page, at);
		about.show([
			['Workers', { text: workersInWords(workers), link: route('queues', name, 'workers') }],
			['In / min', lately(samples, (one) => one.sent)],
			['Out / min', lately(samples, left)],
			...failuresOf(queue, samples),
			...hangingOf(queue),
			[
				'Oldest ready message',
				queue.oldest_ready_ms === null ? '–' : `due for ${duration(queue.oldest_ready_ms)}`,
			],
			['Next schedule', { at: queue.next_schedule_at_ms, words: dueOrExpiry, none: 'none' }],
			['Sent so far', number(queue.sent)],
			['Expired so far', number(queue.expired)],
			['Dead letters so far', number(queue.died)],
		]);
		await messages.look();
		await groups.look();
		const recurs = await schedules.look();
		hasSchedules ||= recurs?.length > 0;
		recurring.hidden = !hasSchedules;
	};
}

/** A message, with words behind its id. */
const linkTo = (name, { id }, more) => ({ text: id + more, link: route('queues', name, 'messages', id) });

const hangingOf = ({ name, hanging }) =>
	hanging
		? [
				['Hangs', linkTo(name, hanging, hanging.worker ? ` (${hanging.worker})` : '')],
				['Hangs since', { at: hanging.received_at_ms }],
			]
		: [];

/** Of a queue in which a delivery has failed. */
function failuresOf(queue, samples) {
	const { name, last_failed: last, most_failed: most, last_failed_at_ms: at } = queue;
	if (at === null) return [];
	return [
		['Failed / min', lately(samples, failed)],
		['To be tried again', number(queue.retrying)],
		['Last failure', { at }],
		['Its error', last ? `${last.reason ?? 'not given'}${last.worker ? ` (${last.worker})` : ''}` : 'its message is gone'],
		['Fails most', most ? linkTo(name, most, `, ${plural(most.receives, 'delivery', 'deliveries')}`) : 'none'],
	];
}

const isUsed = (queue) => queue.sent > 0 || STATES.some((state) => queue[state] > 0);

function stateTabs(first, choose) {
	let chosen = first;
	const node = el(
		'div',
		{ class: 'tabs', role: 'group', 'aria-label': 'State of the messages' },
		...STATES.map((one) =>
			el(
				'button',
				{ type: 'button', onclick: () => press(one) },
				words(one),
				' ',
				el('b', {}, '–'),
			),
		),
	);
	function press(one) {
		chosen = one;
		choose(one);
	}
	return {
		node,
		chosen: () => chosen,
		mark: (state) =>
			[...node.children].forEach((tab, index) =>
				tab.setAttribute('aria-pressed', String(STATES[index] === state)),
			),
		show: (queue) =>
			STATES.forEach((one, index) =>
				setText(node.children[index].querySelector('b'), number(queue[one])),
			),
	};
}

async function send(page, at) {
	const said = await askUser({
		title: 'Send a message',
		go: 'Send',
		fields: [
			{
				name: 'body',
				label: 'Body, as JSON',
				rows: 5,
				value: '{"test":true}',
				required: true,
				check: notJson,
			},
			durationField({ name: 'delay', label: 'Delay', ms: 0 }),
			{
				name: 'priority',
				label: 'Priority, 0 is first',
				type: 'number',
				min: 0,
				max: 9,
				step: 1,
				value: 4,
			},
		],
	});
	if (said)
		await page.act(
			'POST',
			`${at}/messages`,
			{
				body: JSON.parse(said.body),
				delay_ms: parseDuration(said.delay),
				...(said.priority !== '' && { priority: Number(said.priority) }),
			},
			({ messages: [sent] = [{}] }) => `Sent${sent.id ? `: '${sent.id}'` : ''}.`,
		);
}

async function remove(page, at, queue) {
	const said = await askUser({
		title: `Delete the queue '${queue.name}'?`,
		danger: true,
		go: 'Delete queue',
		keep: 'Keep',
		text: `${await contents(page, at, queue)} and its settings are removed for good.`,
	});
	if (said) await page.act('DELETE', at, undefined, () => `The queue '${queue.name}' is deleted.`);
}

/** How much a queue holds, as far as this token may know. */
async function contents(page, at, queue) {
	const results = queue.settings?.result_ms ? ', the results of acknowledged messages' : '';
	const messages = `Its ${plural(total(queue), 'message')}${results}`;
	try {
		const { items, next_cursor: more } = await page.ask('GET', `${at}/schedules?limit=100`);
		const some = more ? 'more than 100 schedules' : plural(items.length, 'schedule');
		return more || items.length ? `${messages}, ${some}` : messages;
	} catch {
		return `${messages}, its schedules`;
	}
}
