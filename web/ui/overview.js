// The overview: what needs a person, what the daemon did in the last minutes, and what runs.
import { Gone } from './api.js';
import { el, facts, keyed, route, setText } from './dom.js';
import { bytes, duration, number, rough, took } from './format.js';
import { BYTES, COUNTS, plot, timeZone } from './plot.js';

const EVERY_MS = 2000; // as the daemon takes samples
const LISTS_EVERY_MS = 10_000;
const PAGE = 100;
const SAMPLES = 150;

const PLOTS = [
	{
		title: 'Requests a second',
		text: rough,
		series: [
			{ label: 'all', colour: 'accent', fill: true, of: (one) => one.requests_per_second },
			{ label: 'refused', colour: 'delayed', of: (one) => one.refusals_per_second },
			{ label: 'errors', colour: 'dead', of: (one) => one.errors_per_second },
		],
	},
	{
		title: 'Latency, without waits',
		text: took,
		series: [
			{ label: 'median', colour: 'accent', of: (one) => one.p50_ms },
			{ label: '99 %', colour: 'delayed', of: (one) => one.p99_ms },
			{ label: 'Redis', colour: 'ready', of: (one) => one.redis_ms },
		],
	},
	{
		title: 'Clients',
		text: number,
		steps: COUNTS,
		series: [
			{ label: 'connections', colour: 'accent', of: (one) => one.connections },
			{ label: 'waiting', colour: 'delayed', of: (one) => one.waiting },
			{ label: 'calls to Redis', colour: 'ready', of: (one) => one.redis_calls },
		],
	},
	{
		title: 'Memory of the daemon',
		text: bytes,
		steps: BYTES,
		series: [{ label: 'resident', colour: 'accent', fill: true, of: (one) => one.resident_bytes }],
	},
];

export function open(page) {
	const attention = el('dl', { class: 'tiles attention', 'aria-label': 'Now' });
	const since = el('p', { class: 'muted' });
	const plots = PLOTS.map(plot);
	const about = facts('What runs');
	const options = facts('Options');
	page.root.append(
		attention,
		el('h2', {}, 'The last five minutes'),
		since,
		el('div', { class: 'plots' }, ...plots.map(({ node }) => node)),
		el('h2', {}, 'What runs'),
		about.node,
		el('details', { class: 'card options' }, el('summary', {}, 'Options'), options.node),
	);

	let samples = [];
	let started = null;
	let lists = null;
	page.every_ms = EVERY_MS;
	return async () => {
		const info = await page.ask('GET', '/info');
		if (info.started_at_ms !== started) samples = [];
		started = info.started_at_ms;
		const after = samples.at(-1)?.at_ms ?? 0;
		const { samples: newest } = await page.ask('GET', `/info/history?after_at_ms=${after}`);
		samples = [...samples, ...newest].slice(-SAMPLES);
		if (!lists || performance.now() - lists.at > LISTS_EVERY_MS) lists = await lookAtLists(page);
		keyed(attention, glance(info, samples.at(-1) ?? null, lists), ({ name }) => name, tile);
		setText(since, samples.length ? `Times in ${timeZone()}.` : 'The first figures come after two seconds.');
		for (const [at, { series }] of PLOTS.entries()) plots[at].show(columns(samples, series));
		about.show(running(info));
		options.show(Object.entries(info.options).map(([name, value]) => [`--${name}`, value || '–']));
	};
}

/** Seconds, then the values of each series; a pause of the daemon is a gap. */
function columns(samples, series) {
	const rows = [];
	for (const one of samples) {
		const last = rows.at(-1);
		if (last && one.at_ms / 1000 - last[0] > 10) rows.push([last[0] + 1, ...series.map(() => null)]);
		rows.push([one.at_ms / 1000, ...series.map(({ of }) => of(one))]);
	}
	return [0, ...series].map((_, at) => rows.map((row) => row[at]));
}

/**
 * The first page of queues, of locks, and of targets where the daemon has some: {items, more}, or
 * {why} where it cannot be read.
 */
async function lookAtLists(page) {
	const look = async (path) => {
		try {
			const { items, next_cursor: next, complete = true } = await page.ask('GET', `${path}?limit=${PAGE}`);
			if (items.length === 0 && !complete) return { why: 'none was found in time' };
			return { items, more: next !== null };
		} catch (error) {
			if (error instanceof Gone) throw error;
			return { why: error.said?.title ?? error.message };
		}
	};
	const push = page.info.options.push ? await look('/push') : null;
	return { at: performance.now(), queues: await look('/queues'), locks: await look('/locks'), push };
}

const sum = (items, of) => items.reduce((all, one) => all + of(one), 0);
const largest = (items, of) => items.reduce((best, one) => (best && of(best) >= of(one) ? best : one), null);
const unread = (name, { why }) => ({ name, value: '–', note: why });
const seen = ({ items, more }, what) => (more ? `of the first ${number(items.length)} ${what}` : '');

/** Tiles {name, value, kind, note, link}, what needs a person first. */
function glance(info, latest, { queues, locks, push }) {
	return [
		deadLetters(queues),
		oldestMessage(queues),
		...(push ? [programs(push)] : []),
		lockWaiters(locks),
		rate('Refusals a second', latest?.refusals_per_second, 'by rate limits'),
		rate('Errors a second', latest?.errors_per_second, 'status 500 and above', 'bad'),
		redis(info, latest),
		redisMemory(info.redis.nodes),
		{
			name: 'Requests a second',
			value: rough(latest?.requests_per_second),
			note: latest?.p99_ms == null ? `up for ${duration(info.uptime_ms)}` : `99 % within ${took(latest.p99_ms)}`,
		},
	];
}

function deadLetters(queues) {
	const name = 'Dead letters';
	if (!queues.items) return unread(name, queues);
	const dead = queues.items.filter((one) => one.dead > 0);
	const worst = largest(dead, (one) => one.dead);
	if (!worst) return { name, value: '0', note: queues.items.length ? seen(queues, 'queues') : 'no queue yet' };
	const others = dead.length - 1;
	return {
		name,
		value: number(sum(dead, (one) => one.dead)),
		kind: 'bad',
		note: others ? `and ${others} more` : seen(queues, 'queues'),
		link: { text: worst.name, to: route('queues', worst.name) },
	};
}

function oldestMessage(queues) {
	const name = 'Oldest ready message';
	if (!queues.items) return unread(name, queues);
	const waiting = queues.items.filter((one) => one.oldest_ready_ms !== null);
	const oldest = largest(waiting, (one) => one.oldest_ready_ms);
	if (!oldest) {
		return { name, value: 'none', note: queues.items.length ? seen(queues, 'queues') : 'no queue yet' };
	}
	return {
		name,
		value: duration(oldest.oldest_ready_ms),
		note: oldest.paused ? 'paused' : `${number(sum(waiting, (one) => one.ready))} ready in all`,
		link: { text: oldest.name, to: route('queues', oldest.name) },
	};
}

/** Programs that this daemon pushes to, and does not call now. */
function programs(push) {
	const name = 'Programs not called';
	if (!push.items) return unread(name, push);
	const off = push.items.filter((one) => one.state === 'backing_off');
	if (off.length === 0) {
		return { name, value: '0', note: `of ${number(push.items.length)}${push.more ? ' and more' : ''}` };
	}
	const [{ name: queue, last_failure: last }] = off;
	return {
		name,
		value: number(off.length),
		kind: 'bad',
		note: last?.detail ?? '',
		link: { text: queue, to: route('push', queue) },
	};
}

function lockWaiters(locks) {
	const name = 'Locks with waiters';
	if (!locks.items) return unread(name, locks);
	const wanted = locks.items.filter((one) => one.waiter_count > 0);
	const worst = largest(wanted, (one) => one.waiter_count);
	if (!worst) {
		const held = locks.items.length;
		return { name, value: '0', note: held ? `${number(held)}${locks.more ? ' or more' : ''} held` : 'no lock held' };
	}
	return {
		name,
		value: number(wanted.length),
		note: `${number(worst.waiter_count)} waiting`,
		link: { text: worst.name, to: route('locks', worst.name) },
	};
}

const rate = (name, value, note, kind) => ({ name, value: rough(value), note, kind: value > 0 ? kind : null });

function redis(info, latest) {
	if (info.redis.error) {
		const value = info.redis.nodes.some((one) => one.connected) ? 'partly away' : 'away';
		return { name: 'Redis', value, kind: 'bad', note: info.redis.error };
	}
	const note = latest?.redis_ms == null ? '' : `in ${took(latest.redis_ms)}`;
	return { name: 'Redis', value: 'answers', kind: 'good', note };
}

function redisMemory(nodes) {
	const name = 'Memory of Redis';
	const known = nodes.filter((node) => node.used_memory_bytes !== null);
	if (known.length === 0) return { name, value: '–', note: 'not known yet' };
	const part = Math.max(...known.map((node) => node.used_memory_bytes / (node.max_memory_bytes ?? Infinity)));
	const value = bytes(sum(known, (node) => node.used_memory_bytes));
	const where = known.length > 1 ? `on ${known.length} servers` : '';
	if (part === 0) return { name, value, note: [where, 'no maxmemory'].filter(Boolean).join(', ') };
	return {
		name,
		value,
		kind: part > 0.9 ? 'bad' : null,
		note: `${Math.round(part * 100)} % of maxmemory${where && ', the fullest server'}`,
	};
}

function tile({ name }) {
	const value = el('dd', { class: 'value' });
	const link = el('a', { hidden: true });
	const note = el('span');
	return {
		node: el('div', {}, el('dt', {}, name), value, el('dd', { class: 'note' }, link, ' ', note)),
		update(latest) {
			setText(value, latest.value);
			value.className = `value ${latest.kind ?? ''}`.trim();
			link.hidden = !latest.link;
			if (latest.link) {
				setText(link, latest.link.text);
				link.setAttribute('href', latest.link.to);
			}
			setText(note, latest.note ?? '');
		},
	};
}

const node = ({ address, version, connections }) =>
	`${address} (${version ?? 'unknown version'}, ${number(connections)} connections)`;

function running(info) {
	return [
		['Version', info.version],
		['Since', { at: info.started_at_ms }],
		['Up for', duration(info.uptime_ms)],
		['Listens on', info.addresses.join(', ')],
		['Health', info.health_addresses.join(', ') || '–'],
		['Mode', info.mode],
		['Redis', info.redis.nodes.map(node).join(', ')],
		[
			'Libraries',
			Object.entries(info.libraries)
				.filter(([, version]) => version !== null)
				.map((pair) => pair.join(' '))
				.join(', '),
		],
	];
}
