// The schedules of a queue: a list of them, and one with its next instants, in UTC and as the
// clocks of its zone show them.
import { path } from './api.js';
import { askUser, confirmRemoval } from './dialog.js';
import { buttons, el, facts, route } from './dom.js';
import { duration, number } from './format.js';
import { sample } from './sample.js';
import { cursorTable, ROWS, table } from './table.js';

const make = (name) => [
	'PUT',
	path('queues', name, 'schedules', 'nightly'),
	{ cron: '30 2 * * *', body: { any: 'JSON' } },
];

const utc = (ms) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
/** Of RFC 3339: "2026-11-24 02:30:00 +01:00". */
const local = (time) => time.replace('T', ' ').replace(/(\.\d+)?([+-]\d\d:\d\d)$/, ' $2');
const rest = (ms) => (ms > Date.now() ? `in ${duration(ms - Date.now())}` : 'now');
const times = ({ cron, every_ms: every }) => cron ?? `each ${duration(every)}`;
const zone = ({ cron, time_zone: name }) => (cron === null ? '–' : name);

const back = (to, words) => el('a', { class: 'back', href: to }, words);

/** #/queues/NAME/schedules, and the same with an id. */
export function openSchedules(page, name, id) {
	return id === undefined ? openAll(page, name) : openSchedule(page, name, id);
}

function actions(page, name) {
	const at = ({ id }) => path('queues', name, 'schedules', id);
	return buttons(
		{ label: 'Run now', about: ({ id }) => id, act: (one) => run(page, at(one), one) },
		{ label: 'Set limit', about: ({ id }) => `of ${id}`, act: (one) => limit(page, at(one), one) },
		{ label: 'Delete', about: ({ id }) => id, danger: true, act: (one) => remove(page, at(one), one) },
	);
}

function openAll(page, name) {
	const shown = cursorTable(
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
				{ title: 'Times', text: times },
				{ title: 'Zone', text: zone },
				{ title: 'Next', kind: 'when', text: (one) => utc(one.next_at_ms) },
				{ title: 'In', text: (one) => rest(one.next_at_ms) },
				{ title: 'Sent', number: true, text: (one) => number(one.sent) },
				{ title: 'Missed', number: true, text: (one) => number(one.missed) },
				{ title: 'Skipped', number: true, text: (one) => number(one.skipped) },
				...(page.write ? [{ title: '', kind: 'actions', make: actions(page, name) }] : []),
			],
		},
		(cursor) => {
			const query = new URLSearchParams({ limit: ROWS, ...(cursor && { cursor }) });
			return page.ask('GET', `${path('queues', name, 'schedules')}?${query}`);
		},
		() => page.refresh(),
	);
	const none = el(
		'div',
		{ class: 'card nothing', hidden: true },
		el('p', {}, 'There are no schedules: no message of this queue recurs.'),
		sample(...make(name)),
	);
	page.root.append(back(route('queues', name), `The queue ${name}`), el('h2', {}, 'Schedules'), shown.node, none);
	return async () => {
		const items = await shown.look();
		if (!items) return;
		none.hidden = items.length > 0;
		shown.node.hidden = items.length === 0;
	};
}

function openSchedule(page, name, id) {
	let latest = { id };
	const bar = actions(page, name)(() => latest);
	const about = facts('Schedule');
	const next = table({
		label: 'Next instants',
		key: (one) => String(one.at_ms),
		columns: [
			{ title: 'In its zone', kind: 'when', text: (one) => local(one.local_time) },
			{ title: 'In UTC', kind: 'when', text: (one) => utc(one.at_ms) },
			{ title: 'In', text: (one) => rest(one.at_ms) },
		],
	});
	const body = el('pre');
	bar.update(latest);
	page.root.append(
		back(route('queues', name, 'schedules'), `All schedules of ${name}`),
		el('h2', {}, id),
		...(page.write ? [bar.node] : []),
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
		bar.update(one);
		next.show(one.next);
		body.textContent = JSON.stringify(one.body, null, 2);
		about.show([
			['Times', times(one)],
			['Zone', one.time_zone + (one.time_zone_version ? `, data ${one.time_zone_version}` : '')],
			['Last', one.last_at_ms === null ? '–' : utc(one.last_at_ms)],
			['Limit', one.limit === null ? 'none' : number(one.limit)],
			['Jitter', one.jitter_ms ? `up to ${duration(one.jitter_ms)}` : 'none'],
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

async function remove(page, at, { id }) {
	const sure = await confirmRemoval({
		title: `Delete the schedule '${id}'?`,
		go: 'Delete schedule',
		text: 'It sends no further message. Messages that it sent stay.',
	});
	if (sure) await page.act('DELETE', at, undefined, () => `The schedule '${id}' is deleted.`);
}
