// What can be done with a whole queue, in the list and on its own page.
import { path } from './api.js';
import { askUser, durationField } from './dialog.js';
import { el, facts, keyed } from './dom.js';
import { exactDuration, expiry, number, parseDuration, plural } from './format.js';
import { sample } from './sample.js';

export const STATES = ['ready', 'blocked', 'delayed', 'in_flight', 'dead'];
export const ANY = 'any'; // no state, of a purge
export const words = (state) => state.replace('_', ' ');
export const total = (queue) => STATES.reduce((sum, state) => sum + queue[state], 0);

/** The request that makes a queue. */
export const make = (name) => ['POST', path('queues', name, 'messages'), { body: { any: 'JSON' } }];

/** A queue as the list has it, for the buttons. */
export const asListed = (queue) => ({ ...queue, paused: queue.settings.paused });

/** Of a queue that is paused: until when. */
export const pauseWords = ({ paused_until_ms: until }) =>
	until === null ? 'paused' : `paused, ends ${expiry(until)}`;

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

/** Commands that do the same: {node, show(queue, state)}, where messages of `state` are shown. */
export function commands() {
	const list = el('div', { class: 'stack' });
	const node = el('details', { class: 'card' }, el('summary', {}, 'Pause, redrive or purge by curl'), list);
	return {
		node,
		show(queue, state) {
			const at = path('queues', queue.name);
			const lines = [
				[queue.paused ? 'Resume' : 'Pause', 'PATCH', at, { paused: !queue.paused }],
				queue.dead > 0 && ['Redrive dead messages, 1,000 at most', 'POST', `${at}/redrive`],
				queue.delayed > 0 && ['Run delayed messages now', 'POST', `${at}/redrive`, { state: 'delayed' }],
				queue[state] > 0 && [`Purge ${words(state)} messages`, 'POST', `${at}/purge`, { state }],
			];
			keyed(list, lines.filter(Boolean), JSON.stringify, ([title, ...request]) => ({
				node: el('div', {}, el('p', { class: 'muted' }, title), sample(...request)),
				update() {},
			}));
		},
	};
}

const redrivable = (dead) => {
	if (dead > 1000) return `1,000 of its ${number(dead)} dead messages become`;
	return `Its ${plural(dead, 'dead message becomes', 'dead messages become')}`;
};

async function redrive(page, queue) {
	const said = await askUser({
		title: `Redrive '${queue.name}'?`,
		go: 'Redrive',
		keep: 'Keep them dead',
		text: `${redrivable(queue.dead)} ready, the longest dead first.`,
		fields: [
			{ name: 'to', label: 'Into another queue', placeholder: queue.name },
			durationField({
				name: 'interval',
				label: 'Time between two',
				min: 1,
				max: 3600000,
				required: false,
			}),
		],
	});
	if (said)
		await page.act(
			'POST',
			path('queues', queue.name, 'redrive'),
			{
				...(said.to ? { to: said.to } : {}),
				...(said.interval ? { interval_ms: parseDuration(said.interval) } : {}),
			},
			redriven,
		);
}

/** Makes the delayed messages of a queue due. */
export async function runAll(page, queue) {
	const those = `Up to 1,000 of its ${plural(queue.delayed, 'delayed message')} become ready, the soonest first`;
	const said = await askUser({
		title: `Run the delayed messages of '${queue.name}' now?`,
		go: 'Run now',
		keep: 'Let them wait',
		text: `${those}, also those that failed and wait for their next attempt.`,
	});
	if (said) await page.act('POST', path('queues', queue.name, 'redrive'), { state: 'delayed' }, redriven);
}

/** What came of a redrive. */
export function redriven({ redriven: count, duplicates }) {
	const left = `Still dead, since their ids are taken there: ${number(duplicates)}.`;
	return `Ready again: ${number(count)}.${duplicates > 0 ? ` ${left}` : ''}`;
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
	const all = total(queue);
	// Where dead letters are, they are what most people mean. Other messages must be chosen.
	const states = ['dead', ...STATES].filter((state, at, list) => queue[state] > 0 && list.indexOf(state) === at);
	const choices = [
		...(queue.dead ? [] : [{ value: '', text: 'choose which' }]),
		...states.map((state) => ({ value: state, text: `${words(state)} (${number(queue[state])})` })),
		{ value: ANY, text: `in any state (${number(all)})` },
	];
	await askPurge(page, path('queues', queue.name), {
		title: `Purge '${queue.name}'?`,
		text: `It holds ${plural(all, 'message')}. Removed messages cannot be restored.`,
		choices,
	});
}

/** Asks which messages of the queue at `at` are purged; `part` narrows the request. */
export async function askPurge(page, at, { title, text, choices, part = {} }) {
	const said = await askUser({
		title,
		danger: true,
		go: 'Purge messages',
		keep: 'Keep',
		text,
		fields: [{ name: 'state', label: 'Messages that are', options: choices, required: true }],
	});
	if (said)
		await page.act(
			'POST',
			`${at}/purge`,
			{ ...part, ...(said.state !== ANY && { state: said.state }) },
			({ purged }) => `Removed: ${number(purged)}.`,
		);
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
			const { backoff, result_ms: result, max_receives: most } = settings;
			shown.show([
				['Visibility', exactDuration(settings.visibility_ms)],
				['Receives until dead', most ? number(most) : 'never dead'],
				['Backoff', `${exactDuration(backoff.base_ms)} to ${exactDuration(backoff.max_ms)}`],
				['Ids remembered for', exactDuration(settings.dedupe_ms)],
				['Dead letters kept for', exactDuration(settings.dead_retention_ms)],
				['Results kept for', result ? exactDuration(result) : 'not at all'],
				...rulesOf(settings),
			]);
		},
	};
}

const perWindow = ({ limit, window_ms: window, burst }) =>
	`${number(limit)} per ${exactDuration(window)}${burst === limit ? '' : `, ${number(burst)} at once`}`;

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
		['Delay of a message', settings.delay_ms && exactDuration(settings.delay_ms)],
		['Life of a message', settings.ttl_ms && exactDuration(settings.ttl_ms)],
		['Receives wait', settings.wait_ms && exactDuration(settings.wait_ms)],
		['Dead letters move to', settings.dead_letter_queue],
		['Dedupe ids of bodies', settings.dedupe_by_body && 'allowed'],
		['Dedupe ids are known', settings.dedupe_scope === 'group' && 'in their group'],
		['Bytes of a message', settings.max_message_bytes && `at most ${number(settings.max_message_bytes)}`],
		...Object.entries(settings.annotations ?? {}).map(([name, text]) => [`'${name}'`, text.slice(0, 200)]),
	].filter(([, value]) => value);
}

/** A field for each setting; its name is the pointer to it, as in the errors of the daemon. */
function fieldsOf(settings) {
	const at = (name) => name.split('/').slice(1).reduce((part, member) => part?.[member] ?? null, settings);
	const time = (name, label, rest) => durationField({ name, label, ms: at(name), ...rest });
	const text = (name, label, rest) => ({ name, label, value: at(name), autocomplete: 'off', ...rest });
	const count = (name, label, rest) =>
		text(name, label, { type: 'number', min: 1, step: 1, placeholder: 'no limit', ...rest });
	const rate = (name, label) => [
		count(`${name}/limit`, `${label}: messages`),
		time(`${name}/window_ms`, `${label}: per`, { min: 1, required: false }),
		count(`${name}/burst`, `${label}: at once`, {
			value: at(`${name}/burst`) === at(`${name}/limit`) ? null : at(`${name}/burst`),
			placeholder: 'the same number',
		}),
	];
	return [
		time('/visibility_ms', 'Visibility', { min: 1 }),
		time('/dedupe_ms', 'Ids remembered for'),
		time('/dead_retention_ms', 'Dead letters kept for'),
		count('/max_receives', 'Receives until dead; 0: never', { required: true, min: 0 }),
		time('/backoff/base_ms', 'First backoff'),
		time('/backoff/max_ms', 'Longest backoff'),
		...rate('/rate', 'Rate'),
		...rate('/group_rate', 'Rate of a group'),
		count('/concurrency', 'In flight at most'),
		count('/group_concurrency', 'In flight of a group'),
		count('/max_messages', 'Messages at most'),
		count('/max_message_bytes', 'Bytes of a message at most'),
		text('/policy/name', 'Policy', { placeholder: 'none' }),
		text('/policy/key', 'Key of the policy', { placeholder: 'none' }),
		{ name: '/order', label: 'Order in groups', options: ['fair', 'strict'], value: settings.order },
		time('/result_ms', 'Results kept for; 0: not at all', { ms: settings.result_ms ?? 0 }),
		time('/delay_ms', 'Delay of a message'),
		time('/ttl_ms', 'Life of a message; 0: no limit', { ms: settings.ttl_ms ?? 0 }),
		time('/wait_ms', 'Receives wait'),
		text('/dead_letter_queue', 'Dead letters move to', { placeholder: 'they stay' }),
		{
			name: '/dedupe_by_body',
			label: 'Dedupe ids of bodies',
			options: ['no', 'yes'],
			value: settings.dedupe_by_body ? 'yes' : 'no',
		},
		{
			name: '/dedupe_scope',
			label: 'Dedupe ids are known in',
			options: ['queue', 'group'],
			value: settings.dedupe_scope,
		},
	];
}

/** The settings of fields, by what is written in them; an object without a member is null. */
function settingsIn(texts) {
	const settings = {};
	for (const [name, text] of Object.entries(texts)) {
		const [, setting, member] = name.split('/');
		const value = text === '' ? null : valueOf(name, text);
		if (!member) settings[setting] = value;
		else if (value === null) settings[setting] ??= null;
		else settings[setting] = { ...settings[setting], [member]: value };
	}
	return settings;
}

function valueOf(name, text) {
	if (name === '/result_ms' || name === '/ttl_ms') return parseDuration(text) || null;
	if (name.endsWith('_ms')) return parseDuration(text);
	if (name === '/dedupe_by_body') return text === 'yes';
	const isText = ['/order', '/dedupe_scope', '/dead_letter_queue'].includes(name) || name.startsWith('/policy/');
	return isText ? text : Number(text);
}

async function change(page, name, settings) {
	const fields = fieldsOf(settings);
	const known = settingsIn(Object.fromEntries(fields.map((one) => [one.name, String(one.value ?? '')])));
	await askUser({
		title: `Settings of '${name}'`,
		go: 'Save',
		text:
			'New settings apply from the next step of each message on. An empty field is no limit. ' +
			'With both backoffs 0, a message is due at once.',
		fields,
		send: async (texts, explain) => {
			const changed = Object.entries(settingsIn(texts)).filter(
				([setting, value]) => JSON.stringify(value) !== JSON.stringify(known[setting]),
			);
			if (!changed.length) explain(null);
			else
				await page.act(
					'PATCH',
					path('queues', name),
					Object.fromEntries(changed),
					() => `The settings of '${name}' are saved.`,
					explain,
				);
		},
	});
}
