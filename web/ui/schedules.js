// The schedules of a queue: a list of them, and one with its next instants, by the clocks of the
// browser and as the clocks of its zone show them.
import { path } from './api.js';
import { askUser, confirmRemoval, durationField } from './dialog.js';
import { back, buttons, el, facts, moment, route, setText } from './dom.js';
import { duration, exactDuration, expiry, number, parseDuration, plural } from './format.js';
import { now } from './now.js';
import { sample } from './sample.js';
import { cursorTable, ROWS, table } from './table.js';

const make = (name) => [
	'PUT',
	path('queues', name, 'schedules', 'nightly'),
	{ cron: '30 2 * * *', body: { any: 'JSON' } },
];

// A look at a queue or at its schedules makes the messages that are due, unless the queue is
// paused. A list of queues makes none: there a late schedule shows that no worker receives.
const LATE_MS = 10_000;
const LONGEST_PAUSE_MS = 366 * 86400000;
/** Of RFC 3339: "2026-11-24 02:30:00 +01:00". */
const local = (time) => time.replace('T', ' ').replace(/(\.\d+)?([+-]\d\d:\d\d)$/, ' $2');
const isPaused = ({ start_at_ms: start }) => start > now();
const hasBegun = ({ last_at_ms: last, missed, skipped }) => last !== null || missed + skipped > 0;
const times = ({ cron, every_ms: every }) => cron ?? `each ${exactDuration(every)}`;
export const timesAndZone = (one) => (one.cron === null ? times(one) : `${times(one)}, ${one.time_zone}`);

export const isLate = (ms) => now() - ms > LATE_MS;
/** How long it is until an instant, or for how long its message has not been made. */
export const dueOrExpiry = (ms) => (isLate(ms) ? `due for ${duration(now() - ms)}` : expiry(ms));

/** #/queues/NAME/schedules, and the same with an id. */
export function openSchedules(page, name, id) {
	return id === undefined ? openAll(page, name) : openSchedule(page, name, id);
}

function actions(page, name) {
	const at = ({ id }) => path('queues', name, 'schedules', id);
	return buttons(
		{ label: 'Run now', about: ({ id }) => id, act: (one) => run(page, at(one), one) },
		{
			label: 'Start now',
			about: ({ id }) => id,
			when: (one) => isPaused(one) && !hasBegun(one),
			act: (one) => resume(page, at(one), one),
		},
		{
			label: 'Pause',
			about: ({ id }) => id,
			when: (one) => !isPaused(one),
			act: (one) => pause(page, at(one), one),
		},
		{
			label: 'Resume',
			about: ({ id }) => id,
			when: (one) => isPaused(one) && hasBegun(one),
			act: (one) => resume(page, at(one), one),
		},
		{ label: 'Set limit', about: ({ id }) => `of ${id}`, act: (one) => limit(page, at(one), one) },
		{ label: 'Delete', about: ({ id }) => id, danger: true, act: (one) => remove(page, at(one), one) },
	);
}

/** How long it is until the next instant, or why its message was not made. */
export function dueNote(isQueuePaused) {
	const node = el('span');
	return {
		node,
		update(one) {
			setText(node, dueInWords(one, isQueuePaused(one)));
			node.className = isLate(one.next_at_ms) ? 'late' : isPaused(one) ? 'count delayed' : '';
		},
	};
}

function dueInWords(one, isQueuePaused) {
	const words = dueOrExpiry(one.next_at_ms);
	if (isLate(one.next_at_ms)) return isQueuePaused ? `${words}: the queue is paused` : words;
	if (!isPaused(one)) return words;
	return `${words}, ${hasBegun(one) ? 'paused' : 'not begun'} until then`;
}

/** Whether a queue is paused: its schedules make no message then. */
async function readPaused(page, name) {
	return (await page.ask('GET', path('queues', name))).settings.paused;
}

/**
 * {node, look()}: the schedules of a queue as a table; look answers the items. isQueuePaused()
 * answers for the latest look.
 */
export function schedulesOf(page, name, isQueuePaused) {
	return cursorTable(
		{
			label: 'Schedules',
			key: (one) => one.id,
			columns: [
				{
					title: 'Schedule',
					kind: 'head',
					text: (one) => one.id,
					link: (one) => route('queues', name, 'schedules', one.id),
				},
				{ title: 'Times', kind: 'long', text: timesAndZone },
				{ title: 'Next', kind: 'when', time: (one) => one.next_at_ms },
				{ title: 'That is', kind: 'note', make: () => dueNote(isQueuePaused) },
				{ title: 'Last', kind: 'when', time: (one) => one.last_at_ms },
				{ title: 'Sent', number: true, text: (one) => number(one.sent) },
				{ title: 'Missed', number: true, text: (one) => number(one.missed) },
				{ title: 'Skipped', number: true, text: (one) => number(one.skipped) },
				...(page.write ? [{ title: '', kind: 'actions many', make: actions(page, name) }] : []),
			],
		},
		(cursor) => {
			const query = new URLSearchParams({ limit: ROWS, ...(cursor && { cursor }) });
			return page.ask('GET', `${path('queues', name, 'schedules')}?${query}`);
		},
		() => page.refresh(),
	);
}

function openAll(page, name) {
	let isQueuePaused = false;
	const shown = schedulesOf(page, name, () => isQueuePaused);
	const none = el(
		'div',
		{ class: 'card nothing', hidden: true },
		el('p', {}, 'There are no schedules: no message of this queue recurs.'),
		sample(...make(name)),
	);
	page.root.append(back(['queues', name], `The queue ${name}`), el('h2', {}, 'Schedules'), shown.node, none);
	return async () => {
		isQueuePaused = await readPaused(page, name);
		const items = await shown.look();
		if (!items) return;
		none.hidden = items.length > 0;
		shown.node.hidden = items.length === 0;
	};
}

function openSchedule(page, name, id) {
	let latest = { id };
	let isQueuePaused = false;
	const bar = actions(page, name)(() => latest);
	const about = facts('Schedule');
	const next = table({
		label: 'Next instants',
		key: (one) => String(one.at_ms),
		columns: [
			{ title: 'In its zone', kind: 'when', text: (one) => local(one.local_time) },
			{ title: 'Here', kind: 'when', time: (one) => one.at_ms },
			{ title: 'In', kind: 'note', text: (one) => expiry(one.at_ms) },
		],
	});
	const body = el('pre');
	const note = dueNote(() => isQueuePaused);
	const nextAt = moment();
	bar.update(latest);
	page.root.append(
		back(['queues', name, 'schedules'], `All schedules of ${name}`),
		el('h2', {}, id),
		...(page.write ? [bar.node] : []),
		el('p', {}, 'Next: ', nextAt.node, ', ', note.node),
		about.node,
		el('h2', {}, 'Next instants'),
		next.node,
		el('h2', {}, 'Body of each message'),
		el('div', { class: 'card' }, body),
	);
	return async () => {
		const one = await page.one(path('queues', name, 'schedules', id), {
			what: 'schedule',
			name: id,
			list: 'queues',
			make: make(name),
		});
		if (!one) return;
		latest = one;
		isQueuePaused = await readPaused(page, name);
		bar.update(one);
		nextAt.update(one.next_at_ms);
		note.update(one);
		next.show(one.next);
		body.textContent = JSON.stringify(one.body, null, 2);
		about.show([
			['Times', times(one)],
			['Zone', one.time_zone + (one.time_zone_version ? `, data ${one.time_zone_version}` : '')],
			['Last', { at: one.last_at_ms }],
			['Begins', one.start_at_ms === null ? 'at once' : { at: one.start_at_ms }],
			['Ends', one.end_at_ms === null ? 'never' : { at: one.end_at_ms }],
			['Limit', one.limit === null ? 'none' : number(one.limit)],
			['Jitter', one.jitter_ms ? `up to ${exactDuration(one.jitter_ms)}` : 'none'],
			['While one is not done', one.overlap === 'skip' ? 'skips' : 'sends'],
			['Priority', number(one.priority)],
			['Group', one.group ?? 'none'],
			['Sent so far', number(one.sent)],
			['Missed so far', number(one.missed)],
			['Skipped so far', number(one.skipped)],
		]);
	};
}

async function run(page, at, { id }) {
	await page.act('POST', `${at}/run`, undefined, (made) => `'${id}' sent '${made.message_id}'.`);
}

async function pause(page, at, one) {
	const phase = one.cron === null ? ' It counts its interval from that time on.' : '';
	const said = await askUser({
		title: `Pause the schedule '${one.id}'?`,
		go: 'Pause',
		text: `It sends no message until then, and none for the instants that pass.${phase}`,
		fields: [
			durationField({
				name: 'duration',
				label: 'For how long',
				ms: 3600000,
				min: 1000,
				max: LONGEST_PAUSE_MS,
			}),
		],
	});
	if (said)
		await page.act(
			'PATCH',
			at,
			{ start_at_ms: now() + parseDuration(said.duration) },
			(changed) => `'${one.id}' is paused, and sends again ${expiry(changed.next_at_ms)}.`,
		);
}

async function resume(page, at, { id }) {
	await page.act('PATCH', at, { start_at_ms: null }, (changed) => `'${id}' continues ${expiry(changed.next_at_ms)}.`);
}

async function limit(page, at, one) {
	const said = await askUser({
		title: `Limit of '${one.id}'`,
		go: 'Save',
		text: `It is deleted when its instants have sent so many; it has sent ${number(one.sent)}. Empty: no limit.`,
		fields: [
			{
				name: 'limit',
				label: 'Messages',
				type: 'number',
				min: 1,
				max: 1e9,
				step: 1,
				value: one.limit,
			},
		],
	});
	if (said)
		await page.act(
			'PATCH',
			at,
			{ limit: said.limit === '' ? null : Number(said.limit) },
			({ limit: most }) =>
				`'${one.id}' ends ${most === null ? 'at no limit' : `after ${number(most)} messages`}.`,
		);
}

async function remove(page, at, { id, sent }) {
	const sure = await confirmRemoval({
		title: `Delete the schedule '${id}'?`,
		go: 'Delete schedule',
		text: `It sends no further message. It has sent ${plural(sent, 'message')}; those that are in the queue stay.`,
	});
	if (sure) await page.act('DELETE', at, undefined, () => `The schedule '${id}' is deleted.`);
}
