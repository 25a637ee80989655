// One message of a queue, found by its id: all that the daemon knows about it.
import { path } from './api.js';
import { el, facts, keyed, route, setText } from './dom.js';
import { expiry, number, untilOrAt } from './format.js';

export const DUE = { in_flight: 'Visible again', dead: 'Died', done: 'Done' };
/** When it is received next, or was settled. */
export const dueAt = ({ deliver_at_ms: next, visible_until_ms: until, died_at_ms: died, done_at_ms: done }) =>
	next ?? until ?? died ?? done;

/** What the worker reported last. */
export function progress({ progress: reported }) {
	if (!reported) return '–';
	return `${reported.percent} %${reported.note === null ? '' : `: ${reported.note}`}`;
}

export const receives = ({ receives: count }, { settings: { max_receives: most } }) =>
	most ? `${number(count)} of ${number(most)}` : number(count);

/**
 * {node, show(queue)} of the message with this id. offered(current) are the buttons for a message.
 */
export function messageOf(page, name, id, offered) {
	let latest = null;
	const bar = offered(() => latest);
	const about = facts('Message');
	const texts = el('div', { class: 'stack' });
	const whole = el('div', { class: 'card parted' }, el('h2', {}, `Message '${id}'`));
	whole.append(...(page.write ? [bar.node] : []), about.node, texts);
	const none = el('p', { class: 'card empty' }, `No message has the id '${id}'.`);
	whole.hidden = none.hidden = true;

	async function ask() {
		try {
			return await page.ask('GET', path('queues', name, 'messages', id));
		} catch (error) {
			if (error.said?.status !== 404) throw error;
			return null;
		}
	}

	return {
		node: el('div', {}, whole, none),
		async show(queue) {
			latest = await ask();
			whole.hidden = latest === null;
			none.hidden = latest !== null;
			if (!latest) return;
			bar.update(latest);
			about.show(factsOf(latest, queue));
			keyed(texts, textsOf(latest), ([title]) => title, text);
		},
	};
}

const scheduleOf = ({ id }, { name }) => ({ text: id, link: route('queues', name, 'schedules', id) });
const orNone = (value) => value ?? '–';

function factsOf(message, queue) {
	const { state, schedule, traceparent, dead_from: deadFrom, dedupe_id: dedupeId } = message;
	const isAhead = state === 'in_flight' || state === 'delayed';
	return [
		['State', state.replace('_', ' ')],
		['Group', orNone(message.group)],
		['Priority', number(message.priority)],
		['Receives', receives(message, queue)],
		[DUE[state] ?? 'Due', { at: dueAt(message), words: isAhead ? untilOrAt : undefined }],
		...(message.received_at_ms ? [['Received', { at: message.received_at_ms }]] : []),
		...(message.first_received_at_ms ? [['First received', { at: message.first_received_at_ms }]] : []),
		['Sent', { at: message.sent_at_ms }],
		['Expires', { at: message.expires_at_ms, words: expiry, none: 'never' }],
		['Worker', orNone(message.worker)],
		['Progress', progress(message)],
		...(schedule ? [['Schedule', scheduleOf(schedule, queue)]] : []),
		...(deadFrom ? [['Died in', { text: deadFrom, link: route('queues', deadFrom) }]] : []),
		...(traceparent ? [['Trace', traceparent]] : []),
		...(dedupeId ? [['Dedupe id', dedupeId]] : []),
	];
}

const json = (value) => JSON.stringify(value, null, 2);

function textsOf({ state, reason, headers, body, result }) {
	return [
		['Last error', reason],
		['Headers', headers && json(headers)],
		['Body', state === 'done' ? null : json(body)],
		['Result', result === undefined ? null : json(result)],
	].filter(([, words]) => words);
}

function text([title]) {
	const words = el('pre');
	return {
		node: el('div', {}, el('p', { class: 'muted' }, title), words),
		update: (pair) => setText(words, pair[1]),
	};
}
