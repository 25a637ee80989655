// Push: the targets of this daemon, why one calls nothing, and how its requests ended.
import { ask, list, path, Problem } from './api.js';
import { back, buttons, el, facts, moment, nothing, route, setText, withCode } from './dom.js';
import { exactDuration, expiry, number } from './format.js';
import { searchForm } from './listing.js';
import { actions, asListed } from './queue_actions.js';
import { table } from './table.js';

const MOST = 1000; // targets that are read
const WHY = { not_ready: 'not ready', not_reached: 'not reached', busy: 'busy', not_received: 'no Redis' };
const BADGES = { on: 'up', backing_off: 'down', checking: 'paused', stopping: 'paused' };
const NONE = 'This daemon pushes to no program. Its operator names the targets in the file of `--push`.';

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

/** All targets; of one that stops and its successor each. */
async function targets(page) {
	const key = (one) => `${one.name} ${one.state === 'stopping'}`;
	const found = await list('/push', { name: key, most: MOST, pages: MOST, signal: page.signal });
	return found.items.map((one) => ({ ...one, key: key(one) }));
}

const failed = ({ counts }) => counts.failed + counts.dead;

function openAll(page) {
	let text = '';
	const none = nothing(withCode(NONE));
	const all = table({
		label: 'Targets',
		key: (one) => one.key,
		empty: 'No targets match.',
		columns: [
			{
				title: 'Queue',
				kind: 'head',
				text: (one) => one.name,
				sort: (one) => one.name,
				link: (one) => route('push', one.name),
			},
			{ title: 'Program', kind: 'wide code', text: (one) => one.unix_socket ?? one.url },
			{ title: 'State', kind: 'long', make: stateOf, sort: (one) => one.state },
			{
				title: 'Open',
				number: true,
				text: (one) => `${number(one.open)} of ${number(one.allowed)}`,
				sort: (one) => one.open,
			},
			{
				title: 'Acknowledged',
				number: true,
				text: (one) => number(one.counts.acknowledged),
				sort: (one) => one.counts.acknowledged,
			},
			{ title: 'Failed', number: true, text: (one) => number(failed(one)), sort: failed },
			{
				title: 'Not reached',
				number: true,
				text: (one) => number(one.counts.unreached),
				sort: (one) => one.counts.unreached,
			},
			{ title: 'Last failure', kind: 'name', make: failure, sort: (one) => one.last_failure?.at_ms },
		],
	});
	const search = searchForm({
		label: 'Filter targets by queue',
		placeholder: 'Filter',
		change: (latest) => {
			text = latest;
			page.refresh();
		},
	});
	page.root.append(search, all.node, none);
	return async () => {
		const found = await targets(page);
		none.hidden = found.length > 0;
		search.hidden = all.node.hidden = found.length === 0;
		all.show(found.filter(({ name }) => name.includes(text)));
	};
}

/** What failed last, and when. */
function failure() {
	const what = el('div');
	const when = moment();
	const then = el('div', { class: 'muted' }, when.node);
	return {
		node: el('div', {}, what, then),
		update({ last_failure: last }) {
			setText(what, last?.detail ?? '–');
			when.update(last?.at_ms);
			then.hidden = last === null;
		},
	};
}

/** The state, or why it backs off and until when. */
function stateOf() {
	const badge = el('span');
	const when = moment((until) => `called again ${expiry(until)}`, '');
	return {
		node: el('span', {}, badge, ' ', el('span', { class: 'muted' }, when.node)),
		update({ state, reason, until_ms: until }) {
			const isOff = state === 'backing_off';
			setText(badge, isOff ? (WHY[reason] ?? reason) : state);
			badge.className = `badge ${BADGES[state] ?? ''}`;
			when.update(isOff ? until : null);
		},
	};
}

/** What can be done with the queue of a target; nothing for a token that may not read it. */
function queueOf(page, name) {
	let latest = { name };
	let mayRead = true;
	const bar = buttons(...actions(page))(() => latest);
	return {
		node: bar.node,
		async look() {
			if (!mayRead) return;
			try {
				latest = asListed(await ask('GET', path('queues', name), undefined, page.signal));
				bar.update(latest);
				bar.node.hidden = false;
			} catch (error) {
				if (!(error instanceof Problem)) throw error;
				mayRead = error.said.status !== 403;
				bar.node.hidden = true;
			}
		},
	};
}

function openOne(page, name) {
	const state = stateOf();
	const queue = page.write ? queueOf(page, name) : null;
	const about = facts(`Target ${name}`);
	const counts = facts('How requests ended');
	page.root.append(
		back('push', 'All targets'),
		state.node,
		el(
			'div',
			{ class: 'buttons' },
			el('a', { href: route('queues', name) }, 'The queue'),
			...(queue ? [queue.node] : []),
		),
		about.node,
		el('h2', {}, 'How requests of this daemon ended'),
		counts.node,
	);
	return async () => {
		const one = (await targets(page)).find((target) => target.name === name); // before one that stops
		if (!one) {
			page.absent.replaceChildren(back('push', 'Back to the list'), nothing(`No target has the queue '${name}'.`));
			return page.shows(null);
		}
		page.shows(one);
		state.update(one);
		about.show([
			['Program', one.url],
			['Unix socket', one.unix_socket ?? '–'],
			['Open now', `${number(one.open)} of ${number(one.allowed)} that are allowed`],
			['Concurrency', number(one.concurrency)],
			['Time for an answer', exactDuration(one.timeout_ms)],
			['Last failure', one.last_failure?.detail ?? '–'],
			['Failed last', { at: one.last_failure?.at_ms }],
			['Fails since', { at: one.failing_since_at_ms }],
		]);
		counts.show([
			['Acknowledged', number(one.counts.acknowledged)],
			['Failed', `${number(failed(one))}, of them dead at once ${number(one.counts.dead)}`],
			['Asked for a pause', number(one.counts.busy)],
			['Not reached', number(one.counts.unreached)],
			['Lease lost', number(one.counts.lost)],
		]);
		await queue?.look();
	};
}
