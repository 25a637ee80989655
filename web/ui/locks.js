// Locks: which client holds each, for how long, and how many wait.
import { path } from './api.js';
import { confirmRemoval } from './dialog.js';
import { back, buttons, el, facts, nothing, route, setText } from './dom.js';
import { duration, number, plural } from './format.js';
import { historyOf } from './history.js';
import { listing } from './listing.js';
import { now } from './now.js';
import { table } from './table.js';

const make = (name) => ['POST', path('locks', name), { ttl_ms: 60000, owner: 'worker-1' }];

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	const all = table({
		label: 'Locks that are held',
		key: (lock) => lock.name,
		turn: (by) => look.turn(by),
		columns: [
			{
				title: 'Lock',
				kind: 'head',
				text: (lock) => lock.name,
				sort: (lock) => lock.name,
				link: (lock) => route('locks', lock.name),
			},
			{ title: 'Holder', kind: 'name', text: holder, sort: holder },
			{ title: 'Waiters', number: true, make: waiters, sort: (lock) => lock.waiter_count },
			{
				title: 'Longest wait',
				number: true,
				text: ({ longest_wait_ms: wait }) => (wait === null ? '–' : duration(wait)),
				sort: (lock) => lock.longest_wait_ms,
			},
			{ title: 'Mode', text: (lock) => lock.mode, sort: (lock) => lock.mode },
			{ title: 'Held for', number: true, text: age, sort: (lock) => -grantedAt(lock) },
			{
				title: 'Remaining',
				number: true,
				text: (lock) => duration(lock.ttl_ms),
				sort: (lock) => lock.ttl_ms,
			},
			{ title: 'Fence', number: true, kind: 'long', text: (lock) => String(lock.fence) },
			...(page.write ? [{ title: '', kind: 'actions', make: buttons(release(page)) }] : []),
		],
	});
	const look = listing(page, {
		what: 'locks',
		where: '/locks',
		name: (one) => one.name,
		open: (name) => route('locks', name),
		shown: all,
		none: 'No lock is held.',
		make: make('example'),
	});
	const unlisted = nothing('Locks of a quorum cannot be listed. Open one by its whole name.');
	unlisted.hidden = true;
	page.root.append(unlisted);
	return async () => {
		try {
			await look();
		} catch (error) {
			if (error.said?.code !== 'unsupported_with_quorum') throw error;
			all.node.hidden = true;
			unlisted.hidden = false;
		}
	};
}

function waiters() {
	const node = el('span');
	return {
		node,
		update: (lock) => {
			setText(node, number(lock.waiter_count));
			node.className = lock.waiter_count ? 'count delayed' : 'nought';
		},
	};
}

// The list has the instant of the grant. Of a holder there is its fence only: the time of its grant
// in microseconds, by Redis's clock, or the number after the last fence.
const grantedAt = (one) => one.granted_at_ms ?? Number(one.fence) / 1000;
const age = (one) => duration(Math.max(0, now() - grantedAt(one)));

function holder({ mode, holder_count, holders }) {
	if (mode === 'shared') return `${number(holder_count)} readers`;
	return holders[0]?.owner ?? 'no label';
}

function release(page) {
	return {
		label: 'Release',
		about: (lock) => lock.name,
		danger: true,
		when: (lock) => lock.held !== false,
		act: async (lock) => {
			const sure = await confirmRemoval({
				title: `Release '${lock.name}' by force?`,
				go: 'Release lock',
				text: consequences(lock),
			});
			if (sure)
				await page.act(
					'DELETE',
					`${path('locks', lock.name)}?force=true`,
					undefined,
					() => `'${lock.name}' is free.`,
				);
		},
	};
}

function consequences({ ttl_ms: left, waiter_count: waiters, ...lock }) {
	const next = waiters ? ` ${plural(waiters, 'request waits', 'requests wait')} for it.` : '';
	const those =
		lock.mode === 'shared'
			? `${plural(lock.holder_count, 'reader')} hold it for another ${duration(left)}, are not notified, and may go on with their work.`
			: `'${holder(lock)}' holds it for another ${duration(left)}, is not notified, and may go on with its work.`;
	return `${those} Only a check of the fencing token stops ${lock.mode === 'shared' ? 'them' : 'it'}.${next}`;
}

const PLOTS = [
	{
		title: 'Holders and waiters',
		series: [
			{ label: 'hold it', colour: 'accent', fill: true, of: (one) => one.holders },
			{ label: 'wait', colour: 'delayed', of: (one) => one.waiting },
		],
	},
];

function openOne(page, name) {
	let latest = { name, held: false, holder_count: 0, holders: [] };
	const state = facts('Lock');
	const past = historyOf(page, path('locks', name), PLOTS);
	const metadata = el('pre', { class: 'card' });
	const bar = buttons(release(page))(() => latest);
	const holders = table({
		label: 'Holders',
		key: (one) => String(one.fence) + one.owner,
		empty: 'No client holds it.',
		columns: [
			{ title: 'Holder', kind: 'head', text: (one) => one.owner ?? 'no label' },
			{ title: 'Held for', number: true, text: age },
			{ title: 'Remaining', number: true, text: (one) => duration(one.ttl_ms) },
			{ title: 'Until', kind: 'when', time: (one) => one.expires_at_ms },
			{ title: 'Holds', number: true, text: (one) => number(one.holds) },
			{ title: 'Fence', number: true, kind: 'long', text: (one) => String(one.fence) },
		],
	});
	const waiting = table({
		label: 'Waiters',
		key: (one) => String(one.position),
		empty: 'No request waits for it.',
		columns: [
			{ title: 'Position', number: true, kind: 'rank', text: (one) => number(one.position) },
			{ title: 'Waiter', kind: 'name', text: (one) => one.owner ?? 'no label' },
			{ title: 'Mode', text: (one) => one.mode },
			{ title: 'Waiting for', number: true, text: (one) => duration(one.waiting_ms) },
			{ title: 'State', text: (one) => (one.offered ? 'has the offer' : 'waits') },
		],
	});
	const further = el('p', { class: 'empty', hidden: true });
	page.root.append(
		back('locks', 'All locks'),
		...(page.write ? [bar.node] : []),
		state.node,
		past.node,
		el('h2', {}, 'Holders'),
		holders.node,
		el('h2', {}, 'Waiters'),
		waiting.node,
		further,
		el('h2', {}, 'Metadata'),
		metadata,
	);
	async function showWaiters() {
		const none = { items: [] };
		const { items } = latest.waiter_count ? await page.ask('GET', `${path('locks', name)}/waiters`) : none;
		waiting.show(items.map((one, at) => ({ ...one, position: at + 1 })));
		further.hidden = latest.waiter_count <= items.length;
		setText(further, `The first ${number(items.length)} of ${number(latest.waiter_count)} are listed.`);
	}

	return async () => {
		const found = await page.one(path('locks', name), {
			what: 'lock',
			name,
			list: 'locks',
			make: make(name),
			// A free lock is known as long as its last fencing token is.
			exists: (lock) => lock.held || lock.waiter_count > 0 || lock.fence !== null,
		});
		if (!found) return;
		latest = found;
		bar.update(latest);
		bar.node.hidden = !latest.held;
		state.show([
			['State', latest.held ? 'held' : 'free'],
			['Mode', latest.mode ?? '–'],
			['Remaining', latest.held ? duration(latest.ttl_ms) : '–'],
			['Holders', number(latest.holder_count)],
			['Waiters', number(latest.waiter_count)],
			['Fence', latest.fence ? String(latest.fence) : '–'],
		]);
		holders.show(latest.holders);
		await showWaiters();
		await past.look();
		const given = latest.holders.map((one) => one.metadata).filter((one) => one !== null);
		setText(metadata, given.map((one) => JSON.stringify(one, null, 2)).join('\n') || 'none');
	};
}
