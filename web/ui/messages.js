// The messages of a queue in one state: 50 per page, filtered by group; one with its id; and what
// can be done with some of them.
import { path } from './api.js';
import { askUser, confirmRemoval, durationField } from './dialog.js';
import { back, buttons, el, route, setText } from './dom.js';
import { expiry, number, parseDuration, plural, untilOrAt } from './format.js';
import { DUE, dueAt, messageOf, progress, receives } from './message.js';
import { reasons } from './reasons.js';
import { cursorTable, ROWS } from './table.js';

const REDRIVEN = 100; // ids of one request, at most
const USUAL = 4; // the priority of a message that was sent without one
const READ = 200; // messages of one request, at most: for a filter by group, and reasons of dead letters
const isSettled = ({ state }) => state !== 'in_flight' && state !== 'done';
const isDead = ({ state }) => state === 'dead';

/** #/queues/NAME/messages/ID */
export function openMessage(page, name, id) {
	const at = path('queues', name);
	const one = messageOf(page, name, id, offers(page, name));
	page.root.append(back(['queues', name], `The queue ${name}`), one.node);
	return async () => one.show(await page.ask('GET', at));
}

/**
 * {node, search: what narrows the messages, choose(state), look()} of a queue. queue() answers the
 * queue of the latest look; mark(state) is called for the state that is shown.
 */
export function messagesOf(page, name, queue, mark) {
	const at = path('queues', name);
	const place = el('div', { class: 'stack tight' });
	let state = 'ready';
	let part = ''; // of the names of groups
	let shown = null;
	let bulk = null;
	const why = reasons();
	const filter = groupFilter((text) => {
		part = text;
		begin();
		page.refresh();
	});
	const search = finder((id) => {
		location.hash = route('queues', name, 'messages', id);
	});

	async function read(cursor) {
		const limit = part || state === 'dead' ? READ : ROWS;
		const query = new URLSearchParams({ state, limit, ...(cursor && { cursor }) });
		const all = await page.ask('GET', `${at}/messages?${query}`);
		return { ...all, ...filter.pick(all) };
	}

	function begin() {
		mark(state);
		shown = cursorTable(
			{
				label: 'Messages',
				key: (message) => message.id,
				empty: part ? '' : 'There is no message in this state.',
				columns: columnsOf(page, name, state, queue),
				select: page.write && state !== 'in_flight' ? () => bulk.show() : undefined,
			},
			read,
			() => page.refresh(),
		);
		bulk = bulkOf(page, at, shown);
		why.node.hidden = true;
		place.replaceChildren(filter.count, why.node, bulk.node, shown.node);
	}

	return {
		node: place,
		search: el('div', { class: 'narrowing' }, filter.node, search),
		choose(wanted) {
			state = wanted;
			begin();
			page.refresh();
		},
		async look() {
			const asked = shown;
			const items = await asked.look();
			if (!items || asked !== shown) return;
			bulk.show();
			if (state === 'dead') why.show(items, part ? items.length : queue().dead);
		},
	};
}

/**
 * {node: a field, shown once a message has a group, count: words, pick(answer): its messages of the
 * groups whose names contain the text}. The API has no such filter.
 */
function groupFilter(change) {
	const input = el('input', {
		type: 'search',
		placeholder: 'Filter by group',
		'aria-label': 'Filter messages by group',
		autocomplete: 'off',
		spellcheck: 'false',
		hidden: true,
		oninput: () => change(input.value),
	});
	const count = el('p', { class: 'muted', role: 'status', hidden: true });
	return {
		node: input,
		count,
		pick({ items: all, next_cursor: next }) {
			const part = input.value;
			if (all.some(({ group }) => group !== null)) input.hidden = false;
			const items = part ? all.filter(({ group }) => group?.includes(part)) : all;
			count.hidden = part === '';
			setText(
				count,
				`Of ${plural(all.length, 'message')} that were read, ${number(items.length)} ` +
					`${items.length === 1 ? 'has' : 'have'} a group with '${part}' in its name.` +
					(next ? ' Next reads the messages after these.' : ''),
			);
			return { items };
		},
	};
}

function finder(find) {
	const input = el('input', {
		type: 'search',
		placeholder: 'Id of a message',
		'aria-label': 'Find a message by its id',
		autocomplete: 'off',
		spellcheck: 'false',
	});
	return el(
		'form',
		{
			class: 'search',
			role: 'search',
			onsubmit: (event) => {
				event.preventDefault();
				if (input.value) find(input.value);
			},
		},
		input,
		el('button', { type: 'submit' }, 'Find'),
	);
}

/** What can be done with all that are selected. */
function bulkOf(page, at, shown) {
	const count = el('b');
	const where = (message) => at + path('messages', message.id);
	const redriven = el('button', { type: 'button', class: 'quiet' }, 'Redrive');
	const deleted = el('button', { type: 'button', class: 'quiet danger' }, 'Delete');
	const node = el('div', { class: 'buttons bulk', hidden: true }, count, redriven, deleted);
	redriven.onclick = async () => {
		const chosen = shown.selected().filter(isDead);
		const requests = [];
		while (chosen.length) {
			const ids = chosen.splice(0, REDRIVEN).map(({ id }) => id);
			requests.push({ method: 'POST', path: `${at}/redrive`, body: { ids } });
		}
		await page.actAll(
			requests,
			(answers) => `Ready again: ${number(answers.reduce((sum, { redriven }) => sum + redriven, 0))}.`,
		);
		shown.unselect();
	};
	deleted.onclick = async () => {
		const chosen = shown.selected();
		const sure = await confirmRemoval({
			title: `Delete ${plural(chosen.length, 'message')}?`,
			go: `Delete ${plural(chosen.length, 'message')}`,
			text: 'They are removed for good, and their ids are forgotten.',
		});
		if (!sure) return;
		await page.actAll(
			chosen.map((one) => ({ method: 'DELETE', path: where(one) })),
			(answers) => `Deleted: ${number(answers.length)}.`,
		);
		shown.unselect();
	};
	return {
		node,
		show() {
			const chosen = shown.selected();
			node.hidden = chosen.length === 0;
			setText(count, `${number(chosen.length)} selected`);
			redriven.hidden = !chosen.some(isDead);
		},
	};
}

/** Columns for messages in a state. */
function columnsOf(page, name, state, queue) {
	return [
		{
			title: 'Id',
			kind: 'id',
			text: (message) => message.id,
			link: (message) => route('queues', name, 'messages', message.id),
		},
		{ title: 'Body', kind: 'wide', make: body },
		optional('Group', 'short', ({ group }) => group),
		...(state === 'dead'
			? []
			: [
					{
						title: 'Priority',
						number: true,
						text: ({ priority }) => priority,
						blank: ({ priority }) => priority === USUAL,
					},
				]),
		{ title: 'Receives', number: true, text: (message) => receives(message, queue()) },
		{
			title: DUE[state] ?? 'Due',
			kind: 'when',
			time: dueAt,
			words: { in_flight: expiry, delayed: untilOrAt }[state],
			blank: (message) => dueAt(message) === null, // of a message that waits for its group
		},
		...(state === 'in_flight'
			? [
					{ title: 'Received', kind: 'when', time: (message) => message.received_at_ms },
					{
						title: 'First received',
						kind: 'when',
						time: (message) => message.first_received_at_ms,
						blank: (one) => one.first_received_at_ms === one.received_at_ms,
					},
				]
			: []),
		{ title: 'Sent', kind: 'when', time: (message) => message.sent_at_ms },
		{
			title: 'Progress',
			kind: 'note',
			text: progress,
			blank: (message) => message.progress === null,
		},
		optional('Worker', 'short worker', ({ worker }) => worker),
		{ title: 'Last error', kind: 'reason', make: reason, blank: (message) => message.reason === null },
		...(page.write ? [{ title: '', kind: 'actions upright', make: offers(page, name) }] : []),
	];
}

/** What can be done with a message. */
function offers(page, name) {
	const at = path('queues', name);
	return buttons(
		{ label: 'Redrive', about: ({ id }) => id, when: isDead, act: (message) => runNow(page, at, message) },
		{ label: 'Move', about: ({ id }) => id, when: isDead, act: (message) => move(page, at, message) },
		{
			label: 'Run now',
			about: ({ id }) => id,
			when: ({ state }) => state === 'delayed',
			act: (message) => runNow(page, at, message),
		},
		{
			label: 'Reschedule',
			about: ({ id }) => id,
			when: (message) => isSettled(message) && !isDead(message),
			act: (message) => reschedule(page, at, message),
		},
		{
			label: 'Delete',
			about: ({ id }) => id,
			danger: true,
			when: isSettled,
			act: (message) => remove(page, at, message),
		},
		{
			label: 'Cancel',
			about: ({ id }) => id,
			danger: true,
			when: (message) => message.state === 'in_flight',
			act: (message) => cancel(page, at, message),
		},
	);
}

/** A column that is there if any message has a value. */
const optional = (title, kind, of) => ({
	title,
	kind,
	text: (message) => of(message) ?? '–',
	blank: (message) => of(message) === null,
});

/** Why the last delivery failed, or why the message died; a long text is folded. */
function reason() {
	const text = el('span');
	const folded = el('summary');
	const long = el('details', { class: 'fold' }, folded);
	const node = el('div', {}, text, long);
	return {
		node,
		update({ reason: said }) {
			const isLong = said?.length > 80;
			text.hidden = isLong;
			long.hidden = !isLong;
			setText(isLong ? folded : text, said ?? '–');
		},
	};
}

/** The body of a message; a long one is folded. */
function body() {
	const text = el('code');
	const full = el('pre');
	const long = el('details', { class: 'fold' }, el('summary', {}, text), full);
	const node = el('div', { class: 'body' });
	return {
		node,
		update(message) {
			const line = JSON.stringify(message.body);
			const isLong = line.length > 80;
			setText(text, isLong ? `${line.slice(0, 80)}…` : line);
			setText(full, isLong ? JSON.stringify(message.body, null, 2) : '');
			if (isLong) long.firstChild.append(text);
			const child = isLong ? long : text;
			if (node.firstChild !== child) node.replaceChildren(child);
		},
	};
}

async function runNow(page, at, message) {
	await page.act(
		'PATCH',
		at + path('messages', message.id),
		{ delay_ms: 0 },
		(changed) => `'${changed.id}' is ready again.`,
	);
}

/** A dead letter, to another queue. */
async function move(page, at, message) {
	const said = await askUser({
		title: `Move '${message.id}'?`,
		go: 'Move',
		text: 'It becomes ready there, and is removed here.',
		fields: [{ name: 'to', label: 'To the queue', required: true }],
	});
	if (said)
		await page.act('POST', `${at}/redrive`, { ids: [message.id], to: said.to }, (answer) => {
			if (answer.redriven) return `'${message.id}' is in '${said.to}'.`;
			if (answer.duplicates) return `'${said.to}' has this id already.`;
			return `'${message.id}' is not dead any more.`;
		});
}

async function reschedule(page, at, message) {
	const said = await askUser({
		title: `Reschedule '${message.id}'?`,
		go: 'Reschedule',
		text: 'It is due that long from now.',
		fields: [
			durationField({ name: 'duration', label: 'From now', ms: 0, max: 3155760000000 }),
		],
	});
	if (said)
		await page.act(
			'PATCH',
			at + path('messages', message.id),
			{ delay_ms: parseDuration(said.duration) },
			(changed) => `'${changed.id}' is due ${expiry(dueAt(changed))}.`,
		);
}

/** A message that a worker has. */
async function cancel(page, at, message) {
	const sure = await confirmRemoval({
		title: `Cancel '${message.id}'?`,
		go: 'Cancel message',
		text: 'It is not delivered again. Its worker learns of it by its next request about the delivery.',
	});
	if (sure)
		await page.act(
			'DELETE',
			`${at + path('messages', message.id)}?in_flight=true`,
			undefined,
			() => `'${message.id}' is cancelled.`,
		);
}

async function remove(page, at, message) {
	const sure = await confirmRemoval({
		title: `Delete '${message.id}'?`,
		go: 'Delete message',
		text: 'It is removed for good, and its id is forgotten.',
	});
	if (sure)
		await page.act(
			'DELETE',
			at + path('messages', message.id),
			undefined,
			() => `'${message.id}' is deleted.`,
		);
}
