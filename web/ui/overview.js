// The overview: what needs a person, what the daemon did in the last minutes, and what runs.
import { Gone } from './api.js';
import { attention, sums } from './attention.js';
import { el, facts, keyed, setText } from './dom.js';
import { bytes, duration, number, rough, took } from './format.js';
import { columns, samplesOf } from './history.js';
import { learnRedis, ofBrowser, SECOND_MS } from './now.js';
import { BYTES, COUNTS, plot, timeZone } from './plot.js';

const EVERY_MS = 2000; // as the daemon takes samples
const SAMPLES = 150;
const GAP_MS = 10_000;

const PLOTS = [
	{
		title: 'Requests per second',
		text: rough,
		series: [
			{ label: 'all', colour: 'accent', fill: true, of: (one) => one.requests_per_second },
			{ label: 'refused', colour: 'delayed', of: (one) => one.refusals_per_second },
			{ label: 'errors', colour: 'bad', of: (one) => one.errors_per_second },
		],
	},
	{
		title: 'Latency, without waits',
		text: took,
		series: [
			{ label: 'median', colour: 'accent', of: (one) => one.p50_ms },
			{ label: '99 %', colour: 'muted', of: (one) => one.p99_ms },
			{ label: 'Redis', colour: 'redis', of: (one) => one.redis_ms },
		],
	},
	{
		title: 'Clients',
		text: number,
		steps: COUNTS,
		series: [
			{ label: 'connections', colour: 'accent', of: (one) => one.connections },
			{ label: 'waiting', colour: 'delayed', of: (one) => one.waiting },
			{ label: 'calls to Redis', colour: 'redis', of: (one) => one.redis_calls },
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
	const needs = attention();
	const tiles = el('dl', { class: 'tiles attention', 'aria-label': 'Now' });
	const since = el('p', { class: 'muted' });
	const plots = PLOTS.map((one) => plot({ ...one, signal: page.signal }));
	const about = facts('What runs');
	const options = facts('Options');
	page.root.append(
		el('h2', { class: 'first' }, 'What needs a person'),
		needs.node,
		tiles,
		el('h2', {}, 'The last five minutes of this daemon'),
		since,
		el('div', { class: 'plots' }, ...plots.map(({ node }) => node)),
		el('h2', {}, 'What runs'),
		about.node,
		el('details', { class: 'card options' }, el('summary', {}, 'Options'), options.node),
	);

	const read = samplesOf(page, '/info', SAMPLES);
	page.every_ms = EVERY_MS;
	page.share = 1; // the daemon spares Redis itself, and a page that waits longer shows what was
	return async () => {
		const info = await page.ask('GET', '/info');
		learnRedis(info.redis.nodes);
		const { samples } = await read();
		const { overview, why } = await lookAround(page);
		if (overview) needs.show(overview);
		else needs.fail(why);
		keyed(tiles, glance(info, samples.at(-1) ?? null, overview, why), ({ name }) => name, tile);
		setText(since, samples.length ? `Times in ${timeZone()}.` : 'The first figures come after two seconds.');
		for (const [at, { series }] of PLOTS.entries()) plots[at].show(columns(samples, series, GAP_MS));
		about.show(running(info));
		options.show(Object.entries(info.options).map(([name, value]) => [`--${name}`, value || '–']));
	};
}

/** {overview}, or {why} where this token may not have it. */
async function lookAround(page) {
	try {
		return { overview: await page.ask('GET', '/overview'), why: '' };
	} catch (error) {
		if (error instanceof Gone) throw error;
		return { overview: null, why: error.said?.detail ?? error.message };
	}
}

// For these reasons a list may be unknown while Redis answers.
const ANSWERED = ['forbidden', 'foreign_key', 'overloaded', 'redis_cluster_unsettled', 'unsupported_with_quorum'];

const sum = (items, of) => items.reduce((all, one) => all + of(one), 0);
/** Tiles {name, value, kind, note, link}, what needs a person first. */
function glance(info, latest, overview, why) {
	const pace = latest?.p99_ms == null ? `up for ${duration(info.uptime_ms)}` : `99 % within ${took(latest.p99_ms)}`;
	return [
		...sums(overview, why),
		rate('Refusals / s', latest?.refusals_per_second, 'of rate limits, by this daemon'),
		rate('Errors / s', latest?.errors_per_second, 'status 500 and above, by this daemon', 'bad'),
		redis(info, latest, overview),
		redisMemory(info.redis.nodes),
		{
			name: 'Requests / s',
			value: rough(latest?.requests_per_second),
			note: `to this daemon, ${pace}`,
		},
	];
}

const rate = (name, value, note, kind) => ({ name, value: rough(value), note, kind: value > 0 ? kind : null });

function redis(info, latest, overview) {
	if (info.redis.error) {
		const away = info.redis.nodes.some((one) => one.connected) ? 'partly away' : 'away';
		const value = info.redis.connected ? 'refuses calls' : away;
		return { name: 'Redis', value, kind: 'bad', note: info.redis.error };
	}
	const lost = overview?.unknown.find(({ code }) => !ANSWERED.includes(code));
	if (lost) return { name: 'Redis', value: 'not known', kind: 'unknown', note: lost.detail };
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
	const note = el('dd', { class: 'note' });
	return {
		node: el('div', {}, el('dt', {}, name), value, note),
		update(latest) {
			setText(value, latest.value);
			value.className = `value ${latest.kind || ''}`.trim();
			setText(note, latest.note ?? '');
		},
	};
}

const node = ({ address, version, connections }) =>
	`${address} (${version ?? 'unknown version'}, ${number(connections)} connections)`;

/** How far the clocks of Redis and of this browser are from the daemon's. */
function clocks(nodes) {
	const differs = (what, ms) =>
		Math.abs(ms) >= SECOND_MS && `${what} is ${duration(Math.abs(ms))} ${ms < 0 ? 'behind' : 'ahead'}`;
	const wrong = [
		...nodes.map(({ address, clock_offset_ms: ms }) => differs(`Redis (${address})`, ms ?? 0)),
		differs('this browser', -ofBrowser()),
	].filter(Boolean);
	return wrong.length ? `beside the daemon, ${wrong.join(', ')}` : 'agree within a second';
}

function running(info) {
	return [
		['Version', info.version],
		['Since', { at: info.started_at_ms }],
		['Up for', duration(info.uptime_ms)],
		['Listens on', info.addresses.join(', ')],
		['Health', info.health_addresses.join(', ') || '–'],
		['Mode', info.mode],
		['Redis', info.redis.nodes.map(node).join(', ')],
		['Clocks', clocks(info.redis.nodes)],
		[
			'Libraries',
			Object.entries(info.libraries)
				.filter(([, version]) => version !== null)
				.map(([name, version]) => `${name} ${version.split(' ')[0].replace(`${name}/`, '')}`)
				.join(', '),
		],
	];
}
