// Queues: how deep they are, what lies in them, and what to do about it.
import { path } from './api.js';
import { askUser } from './dialog.js';
import { buttons, el, facts, keyed, route, setText, table } from './dom.js';
import { duration, instant, number } from './format.js';
import { listing } from './listing.js';
import { COUNTS, History, plot } from './plot.js';

const STATES = ['ready', 'delayed', 'in_flight', 'dead'];
const words = (state) => state.replace('_', ' ');
const title = (state) => words(state).replace(/^./, (first) => first.toUpperCase());
const SPAN_S = 600;
// Depths of each queue since the page was opened, as far as somebody looked.
const depths = new Map();

function remember(queue) {
	if (!depths.has(queue.name)) depths.set(queue.name, new History(STATES.length, SPAN_S));
	const history = depths.get(queue.name);
	history.add(
		Date.now() / 1000,
		STATES.map((state) => queue[state]),
	);
	return history;
}

export function open(page) {
	return page.names.length ? openOne(page, page.names[0], page.names[1]) : openAll(page);
}

function openAll(page) {
	const all = table({
		label: 'Queues',
		key: (queue) => queue.name,
		empty: 'No queue has been used.',
		columns: [
			{
				title: 'Queue',
				kind: 'head',
				text: (queue) => queue.name,
				link: (queue) => route('queues', queue.name),
			},
			...STATES.map((state) => ({ title: title(state), number: true, make: () => count(state) })),
			{ title: 'State', text: (queue) => (queue.paused ? 'paused' : 'open') },
			...(page.write ? [{ title: '', kind: 'actions', make: buttons(...actions(page)) }] : []),
		],
	});
	const plots = el('div', { class: 'grid' });
	const look = listing(page, {
		what: 'queues',
		where: '/queues',
		name: (one) => one.name,
		open: (name) => route('queues', name),
		shown: all,
	});
	page.root.append(plots);
	return async () => {
		const items = await look();
		keyed(
			plots,
			items.slice(0, 12),
			(queue) => queue.name,
			(queue) => depthPlot(queue.name),
		);
		for (const queue of items) remember(queue);
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

function depthPlot(name) {
	const made = plot({
		title: name,
		text: number,
		steps: COUNTS,
		series: STATES.map((state) => ({ label: words(state), colour: state })),
	});
	return { node: made.node, update: (queue) => made.show(remember(queue).columns) };
}

/** What can be done with a queue; in the list and on its own page. */
function actions(page) {
	const at = (queue) => path('queues', queue.name);
	return [
		{
			label: 'Redrive',
			about: (queue) => queue.name,
			when: (queue) => queue.dead > 0,
			act: (queue) => redrive(page, queue),
		},
		{
			label: 'Pause',
			about: (queue) => queue.name,
			when: (queue) => !queue.paused,
			act: (queue) => pause(page, queue, true),
		},
		{
			label: 'Resume',
			about: (queue) => queue.name,
			when: (queue) => queue.paused,
			act: (queue) => pause(page, queue, false),
		},
		{
			label: 'Purge',
			about: (queue) => queue.name,
			danger: true,
			when: (queue) => STATES.some((state) => queue[state] > 0),
			act: (queue) => purge(page, at(queue), queue),
		},
	];
}

async function redrive(page, queue) {
	const said = await askUser({
		title: `Redrive '${queue.name}'?`,
		go: 'Redrive',
		text: `Up to 1000 of its ${number(queue.dead)} dead messages become ready, those that died first going first.`,
	});
	if (said)
		await page.act(
			'POST',
			path('queues', queue.name, 'redrive'),
			{},
			({ redriven }) => `Ready again: ${number(redriven)}.`,
		);
}

async function pause(page, queue, paused) {
	await page.act(
		'PATCH',
		path('queues', queue.name),
		{ paused },
		() => `'${queue.name}' is ${paused ? 'paused: it accepts messages and delivers none' : 'open'}.`,
	);
}

async function purge(page, at, queue) {
	const said = await askUser({
		title: `Purge '${queue.name}'?`,
		danger: true,
		go: 'Purge',
		text: 'What is removed cannot be brought back.',
		fields: [
			{
				name: 'state',
				label: 'Messages that are',
				options: ['dead', 'ready', 'delayed', 'in flight', 'in any state'],
			},
		],
	});
	if (said) {
		const body = said.state === 'in any state' ? {} : { state: said.state.replace(' ', '_') };
		await page.act('POST', `${at}/purge`, body, ({ purged }) => `Removed: ${number(purged)}.`);
	}
}

function openOne(page, name, state = 'ready') {
	const at = path('queues', name);
	let shown = STATES.includes(state) ? state : 'ready';
	let latest = null;
	const bar = buttons(...actions(page))(() => latest);
	const settings = facts('Settings');
	const depth = depthPlot('Depth');
	const messages = table({
		label: 'Messages',
		key: (message) => message.id,
		empty: 'There is no message in this state.',
		columns: messageColumns(page, at),
	});
	const tabs = el(
		'div',
		{ class: 'tabs', role: 'group', 'aria-label': 'State of the messages' },
		...STATES.map((one) =>
			el(
				'button',
				{ type: 'button', 'aria-pressed': String(one === shown), onclick: () => choose(one) },
				words(one),
				' ',
				el('b', {}, '–'),
			),
		),
	);
	const more = el('p', { class: 'muted', hidden: true }, 'The first 100 are shown.');
	function choose(one) {
		shown = one;
		history.replaceState(null, '', route('queues', name, one));
		[...tabs.children].forEach((tab, index) =>
			tab.setAttribute('aria-pressed', String(STATES[index] === one)),
		);
		page.refresh();
	}
	page.root.append(
		el('a', { class: 'back', href: '#/queues' }, 'All queues'),
		...(page.write ? [bar.node] : []),
		depth.node,
		tabs,
		messages.node,
		more,
		el('h2', {}, 'Settings'),
		settings.node,
	);
	return async () => {
		const of = shown;
		const [queue, found] = await Promise.all([
			page.ask('GET', at),
			page.ask('GET', `${at}/messages?state=${of}&limit=100`),
		]);
		latest = { ...queue, paused: queue.settings.paused };
		bar.update(latest);
		depth.update(latest);
		STATES.forEach((one, index) => setText(tabs.children[index].querySelector('b'), number(queue[one])));
		if (of === shown) messages.show(found.items);
		more.hidden = !found.next_cursor;
		settings.show(settingFacts(queue));
	};
}

function settingFacts({ settings, oldest_ready_ms: oldest, expired }) {
	return [
		['State', settings.paused ? 'paused' : 'open'],
		['Oldest ready message', oldest === null ? '–' : `due for ${duration(oldest)}`],
		['Expired so far', number(expired)],
		['Visibility', duration(settings.visibility_ms)],
		['Receives until dead', number(settings.max_receives)],
		[
			'Backoff',
			settings.backoff
				? `${duration(settings.backoff.base_ms)} to ${duration(settings.backoff.max_ms)}`
				: 'none',
		],
		['Ids remembered for', duration(settings.dedupe_ms)],
		['Dead letters kept for', duration(settings.retention_ms)],
	];
}

function messageColumns(page, at) {
	const columns = [
		{ title: 'Id', kind: 'head', text: (message) => message.id },
		{ title: 'Body', kind: 'wide', make: body },
		{ title: 'Priority', number: true, text: (message) => message.priority },
		{ title: 'Receives', number: true, text: (message) => message.receives },
		{ title: 'Due', kind: 'when', text: (message) => due(message) },
		{ title: 'Sent', kind: 'when', text: (message) => instant(message.sent_at_ms) },
		{ title: 'Reason', kind: 'wide', text: (message) => message.reason ?? '–' },
	];
	if (page.write)
		columns.push({
			title: '',
			kind: 'actions',
			make: buttons(
				{
					label: 'Reschedule',
					about: ({ id }) => id,
					when: ({ state }) => state !== 'in_flight',
					act: (message) => reschedule(page, at, message),
				},
				{
					label: 'Cancel',
					about: ({ id }) => id,
					danger: true,
					when: ({ state }) => state !== 'in_flight',
					act: (message) => cancel(page, at, message),
				},
			),
		});
	return columns;
}

function due({ state, deliver_at_ms: at }) {
	const rest = at - Date.now();
	if (state === 'delayed') return rest > 0 ? `in ${duration(rest)}` : 'now';
	return instant(at);
}

/** A long body is folded. */
function body() {
	const text = el('code');
	const full = el('pre');
	const folded = el('details', {}, el('summary', {}, text), full);
	const node = el('div', { class: 'body' });
	return {
		node,
		update(message) {
			const line = JSON.stringify(message.body);
			const long = line.length > 80;
			setText(text, long ? `${line.slice(0, 80)}…` : line);
			setText(full, long ? JSON.stringify(message.body, null, 2) : '');
			const child = long ? folded : text;
			if (long) folded.firstChild.append(text);
			if (node.firstChild !== child) node.replaceChildren(child);
		},
	};
}

async function reschedule(page, at, message) {
	const said = await askUser({
		title: `Reschedule '${message.id}'?`,
		go: 'Reschedule',
		text:
			message.state === 'dead'
				? 'It becomes a message of the queue again, with no receives.'
				: 'It is due that long from now.',
		fields: [
			{
				name: 'seconds',
				label: 'Seconds from now',
				type: 'number',
				min: 0,
				max: 3155760000,
				step: 1,
				required: true,
				value: '0',
			},
		],
	});
	if (said)
		await page.act(
			'PATCH',
			`${at}${path('messages', message.id)}`,
			{ delay_ms: Number(said.seconds) * 1000 },
			(changed) => `'${changed.id}' is due ${due(changed)}.`,
		);
}

async function cancel(page, at, message) {
	if (
		await askUser({
			title: `Cancel '${message.id}'?`,
			danger: true,
			go: 'Cancel the message',
			text: 'It is removed, and its id is forgotten.',
		})
	)
		await page.act(
			'DELETE',
			`${at}${path('messages', message.id)}`,
			undefined,
			() => `'${message.id}' is gone.`,
		);
}
