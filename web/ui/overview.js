// The daemon itself, live: what it does each second, and what runs.
import { el, facts, keyed, setText } from './dom.js';
import { bytes, duration, instant, number, rough, took } from './format.js';
import { BYTES, COUNTS, History, plot } from './plot.js';
import { between } from './rates.js';

const EVERY_MS = 1000;
const SPAN_S = 300;

const PLOTS = [
	{
		title: 'Requests a second',
		text: rough,
		series: [{ label: 'all', colour: 'accent', fill: true, of: (said) => said.requests_per_second }],
	},
	{
		title: 'Latency',
		text: took,
		series: [
			{ label: 'median', colour: 'accent', of: (said) => said.p50_ms },
			{ label: '99 %', colour: 'delayed', of: (said) => said.p99_ms },
			{ label: 'Redis', colour: 'ready', of: (said) => said.redis_ms },
		],
	},
	{
		title: 'Clients',
		text: number,
		steps: COUNTS,
		series: [
			{ label: 'connections', colour: 'accent', of: (said) => said.activity.gauges.http_connections },
			{ label: 'waiting', colour: 'delayed', of: (said) => said.activity.gauges.requests_waiting },
			{
				label: 'calls to Redis',
				colour: 'ready',
				of: (said) => said.activity.gauges.redis_calls_in_flight,
			},
		],
	},
	{
		title: 'Memory',
		text: bytes,
		steps: BYTES,
		series: [
			{ label: 'resident', colour: 'accent', fill: true, of: (said) => said.activity.resident_bytes },
		],
	},
];
const SERIES = PLOTS.flatMap((one) => one.series);
// Since the page was opened, while it was visible.
const history = new History(SERIES.length, SPAN_S);

export function open(page) {
	const tiles = el('dl', { class: 'tiles', 'aria-label': 'Now' });
	const plots = PLOTS.map(plot);
	const about = facts('What runs');
	const options = facts('Options');
	page.root.append(
		tiles,
		el('div', { class: 'grid' }, ...plots.map(({ node }) => node)),
		el('h2', {}, 'What runs'),
		about.node,
		el('details', { class: 'card options' }, el('summary', {}, 'Options'), options.node),
	);

	function draw(said) {
		keyed(tiles, glance(said), ([name]) => name, tile);
		let at = 1;
		for (const [index, { series }] of PLOTS.entries()) {
			plots[index].show([history.columns[0], ...history.columns.slice(at, at + series.length)]);
			at += series.length;
		}
	}
	let before = null;
	page.every_ms = EVERY_MS;
	return async () => {
		const info = await page.ask('GET', '/info');
		const said = { ...info, ...between(before, info) };
		before = info;
		history.add(
			Date.now() / 1000,
			SERIES.map(({ of }) => of(said)),
		);
		draw(said);
		about.show(running(info));
		options.show(Object.entries(info.options).map(([name, value]) => [`--${name}`, value || '–']));
	};
}

function glance(said) {
	return [
		['Requests a second', rough(said.requests_per_second)],
		['Latency, median', took(said.p50_ms)],
		['Latency, 99 %', took(said.p99_ms)],
		['Redis', said.redis.error ?? 'answers', said.redis.error ? 'bad' : 'good'],
		['Memory', bytes(said.activity.resident_bytes)],
		['Up for', duration(said.uptime_ms)],
	];
}

function tile([name]) {
	const value = el('dd');
	return {
		node: el('div', {}, el('dt', {}, name), value),
		update([, text, kind]) {
			setText(value, text);
			value.className = kind ?? '';
		},
	};
}

const node = ({ address, version, connections }) =>
	`${address} (${version ?? 'unknown version'}, ${number(connections)} connections)`;

function running(info) {
	return [
		['Version', info.version],
		['Since', instant(info.started_at_ms)],
		['Listens on', info.addresses.join(', ')],
		['Health', info.health_address ?? '–'],
		['Mode', info.mode],
		['Redis', info.redis.nodes.map(node).join(', ')],
		[
			'Libraries',
			Object.entries(info.libraries)
				.map((pair) => pair.join(' '))
				.join(', '),
		],
	];
}
