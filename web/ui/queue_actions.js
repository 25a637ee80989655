// What can be done with a whole queue, in the list and on its own page.
import { path } from './api.js';
import { askUser } from './dialog.js';
import { el, facts } from './dom.js';
import { duration, number } from './format.js';

export const STATES = ['ready', 'blocked', 'delayed', 'in_flight', 'dead'];
export const words = (state) => state.replace('_', ' ');
export const total = (queue) => STATES.reduce((sum, state) => sum + queue[state], 0);

/** The request that makes a queue. */
export const make = (name) => ['POST', path('queues', name, 'messages'), { body: { any: 'JSON' } }];

/** Buttons for a queue. */
export function actions(page) {
	const about = (queue) => queue.name;
	return [
		{
			label: 'Redrive',
			about,
			when: (queue) => queue.dead > 0,
			act: (queue) => redrive(page, queue),
		},
		{
			label: 'Pause',
			about,
			when: (queue) => !queue.paused,
			act: (queue) => pause(page, queue, true),
		},
		{
			label: 'Resume',
			about,
			when: (queue) => queue.paused,
			act: (queue) => pause(page, queue, false),
		},
		{
			label: 'Purge',
			about,
			danger: true,
			when: (queue) => total(queue) > 0,
			act: (queue) => purge(page, queue),
		},
	];
}

async function redrive(page, queue) {
	const said = await askUser({
		title: `Redrive '${queue.name}'?`,
		go: 'Redrive',
		keep: 'Keep them dead',
		text: `Up to 1000 of its ${number(queue.dead)} dead messages become ready, the longest dead first.`,
		fields: [
			{ name: 'to', label: 'Into another queue', placeholder: queue.name },
			{
				name: 'interval',
				label: 'Milliseconds between two',
				type: 'number',
				min: 1,
				max: 3600000,
				step: 1,
			},
		],
	});
	if (said)
		await page.act(
			'POST',
			path('queues', queue.name, 'redrive'),
			{
				...(said.to ? { to: said.to } : {}),
				...(said.interval ? { interval_ms: Number(said.interval) } : {}),
			},
			({ redriven, duplicates }) => {
				const left = `Still dead, since their ids are taken there: ${number(duplicates)}.`;
				return `Ready again: ${number(redriven)}.${duplicates > 0 ? ` ${left}` : ''}`;
			},
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

async function purge(page, queue) {
	const said = await askUser({
		title: `Purge '${queue.name}'?`,
		danger: true,
		go: 'Purge messages',
		keep: 'Keep',
		text: 'Removed messages cannot be restored.',
		fields: [
			{
				name: 'state',
				label: 'Messages that are',
				options: ['dead', 'ready', 'blocked', 'delayed', 'in flight', 'in any state'],
			},
		],
	});
	if (said) {
		const body = said.state === 'in any state' ? {} : { state: said.state.replace(' ', '_') };
		await page.act(
			'POST',
			path('queues', queue.name, 'purge'),
			body,
			({ purged }) => `Removed: ${number(purged)}.`,
		);
	}
}

/** The settings of a queue, and a button that changes them. */
export function settingsOf(page, name) {
	const shown = facts('Settings');
	let settings = null;
	const edit = el('button', { type: 'button', onclick: () => change(page, name, settings) }, 'Edit settings');
	return {
		node: el('div', { class: 'card parted' }, shown.node, ...(page.write ? [el('div', {}, edit)] : [])),
		show(queue) {
			settings = queue.settings;
			shown.show([
				['Visibility', duration(settings.visibility_ms)],
				['Receives until dead', number(settings.max_receives)],
				['Backoff', `${duration(settings.backoff.base_ms)} to ${duration(settings.backoff.max_ms)}`],
				['Ids remembered for', duration(settings.dedupe_ms)],
				['Dead letters kept for', duration(settings.dead_retention_ms)],
				['Results kept for', settings.result_ms ? duration(settings.result_ms) : 'not at all'],
				...rulesOf(settings),
			]);
		},
	};
}

const perWindow = ({ limit, window_ms: window, burst }) =>
	`${number(limit)} per ${duration(window)}${burst === limit ? '' : `, ${number(burst)} at once`}`;

/** The rules that are set, of groups and budgets. */
function rulesOf(settings) {
	const { order, concurrency, group_concurrency: inGroup, rate, group_rate: groupRate, policy } = settings;
	return [
		['Order in groups', order === 'strict' && 'strict'],
		['In flight at most', concurrency && number(concurrency)],
		['In flight of a group', inGroup && number(inGroup)],
		['Rate', rate && perWindow(rate)],
		['Rate of a group', groupRate && perWindow(groupRate)],
		['Policy', policy && `${policy.name}, key ${policy.key}`],
		['Messages at most', settings.max_messages && number(settings.max_messages)],
	].filter(([, value]) => value);
}

const SETTINGS = [
	['visibility_ms', 'Visibility, ms'],
	['max_receives', 'Receives until dead'],
	['dedupe_ms', 'Ids remembered for, ms'],
	['dead_retention_ms', 'Dead letters kept for, ms'],
];

async function change(page, name, settings) {
	const whole = { type: 'number', min: 0, step: 1, required: true };
	const said = await askUser({
		title: `Settings of '${name}'`,
		go: 'Save',
		text: 'New settings apply from the next step of each message on. With both backoffs 0, a message is due at once.',
		fields: [
			...SETTINGS.map(([field, label]) => ({ ...whole, name: field, label, value: settings[field] })),
			{ ...whole, name: 'base_ms', label: 'First backoff, ms', value: settings.backoff.base_ms },
			{ ...whole, name: 'max_ms', label: 'Longest backoff, ms', value: settings.backoff.max_ms },
			{
				...whole,
				name: 'result_ms',
				label: 'Results kept for, ms; 0: not at all',
				value: settings.result_ms ?? 0,
			},
		],
	});
	if (!said) return;
	const body = {};
	for (const [field] of SETTINGS) if (Number(said[field]) !== settings[field]) body[field] = Number(said[field]);
	const results = Number(said.result_ms) || null;
	if (results !== settings.result_ms) body.result_ms = results;
	const backoff = { base_ms: Number(said.base_ms), max_ms: Number(said.max_ms) };
	const before = settings.backoff;
	if (backoff.base_ms !== before.base_ms || backoff.max_ms !== before.max_ms) body.backoff = backoff;
	if (Object.keys(body).length)
		await page.act('PATCH', path('queues', name), body, () => `The settings of '${name}' are saved.`);
}
