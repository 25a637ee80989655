// Locks: who holds them, for how long still, and who waits.
import { path } from './api.js';
import { askUser } from './dialog.js';
import { buttons, el, facts, route, setText, table } from './dom.js';
import { duration, instant, number } from './format.js';
import { listing } from './listing.js';

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	const all = table({
		label: 'Locks that are held',
		key: (lock) => lock.name,
		empty: 'No lock is held.',
		columns: [
			{
				title: 'Lock',
				kind: 'head',
				text: (lock) => lock.name,
				link: (lock) => route('locks', lock.name),
			},
			{ title: 'Holder', kind: 'name', text: holder },
			{ title: 'Mode', text: (lock) => lock.mode },
			{ title: 'Held for', number: true, text: age },
			{ title: 'Remaining', number: true, text: (lock) => duration(lock.ttl_ms) },
			{ title: 'Holds', number: true, text: (lock) => number(lock.holds) },
			{ title: 'Fence', number: true, text: (lock) => String(lock.fence) },
			...(page.write ? [{ title: '', kind: 'actions', make: buttons(release(page)) }] : []),
		],
	});
	return listing(page, {
		what: 'locks',
		where: '/locks',
		name: (one) => one.name,
		open: (name) => route('locks', name),
		shown: all,
	});
}

// A fence is the time of the grant in microseconds, by Redis's clock, or the number after the last
// one.
const age = (lock) => duration(Math.max(0, Date.now() - Number(lock.fence) / 1000));

const holder = (lock) => lock.owner ?? (lock.mode === 'shared' ? `${number(lock.holds)} readers` : 'no label');

function release(page) {
	return {
		label: 'Release',
		about: (lock) => lock.name,
		danger: true,
		when: (lock) => lock.held !== false,
		act: async (lock) => {
			const said = await askUser({
				title: `Release '${lock.name}' by force?`,
				danger: true,
				go: 'Release',
				text:
					`'${holder(lock)}' has it for another ${duration(lock.ttl_ms)}, is not told, and may go on with its work. ` +
					'Only what checks the fence will stop it.',
			});
			if (said)
				await page.act(
					'DELETE',
					`${path('locks', lock.name)}?force=true`,
					undefined,
					() => `'${lock.name}' is free.`,
				);
		},
	};
}

function openOne(page, name) {
	let latest = { name, held: false };
	const state = facts('Lock');
	const metadata = el('pre', { class: 'card' });
	const bar = buttons(release(page))(() => latest);
	const holders = table({
		label: 'Holders',
		key: (one) => String(one.fence) + one.owner,
		empty: 'Nobody holds it.',
		columns: [
			{ title: 'Holder', kind: 'head', text: (one) => one.owner ?? 'no label' },
			{ title: 'Held for', number: true, text: age },
			{ title: 'Remaining', number: true, text: (one) => duration(one.ttl_ms) },
			{ title: 'Until', text: (one) => instant(one.expires_at_ms) },
			{ title: 'Fence', number: true, text: (one) => String(one.fence) },
		],
	});
	page.root.append(
		el('a', { class: 'back', href: '#/locks' }, 'All locks'),
		...(page.write ? [bar.node] : []),
		state.node,
		el('h2', {}, 'Holders'),
		holders.node,
		el('h2', {}, 'Metadata'),
		metadata,
	);
	return async () => {
		latest = await page.ask('GET', path('locks', name));
		bar.update(latest);
		state.show([
			['State', latest.held ? 'held' : 'free'],
			['Mode', latest.mode ?? '–'],
			['Remaining', latest.held ? duration(latest.ttl_ms) : '–'],
			['Waiters', number(latest.waiters)],
			['Holds', number(latest.holds)],
			['Fence', latest.fence ? String(latest.fence) : '–'],
		]);
		holders.show(latest.held ? (latest.holders ?? [latest]) : []);
		setText(metadata, latest.metadata ? JSON.stringify(latest.metadata, null, 2) : 'none');
	};
}
