// The daemon itself, live: what it does each second, and what runs.
import { listen } from './api.js';
import { el, facts, keyed, setText } from './dom.js';
import { bytes, duration, instant, number, rough, took } from './format.js';
import { BYTES, COUNTS, History, plot } from './plot.js';

const SPAN_S = 300;
const SILENCE_MS = 5000;

const PLOTS = [
	{ title: 'Requests a second', text: rough, series: [
		{ label: 'all', colour: 'accent', fill: true, of: (said) => said.requests_per_second }] },
	{ title: 'Latency', text: took, series: [
		{ label: 'median', colour: 'accent', of: (said) => said.p50_ms },
		{ label: '99 %', colour: 'delayed', of: (said) => said.p99_ms },
		{ label: 'Redis', colour: 'ready', of: (said) => said.redis_ms }] },
	{ title: 'Clients', text: number, steps: COUNTS, series: [
		{ label: 'connections', colour: 'accent', of: (said) => said.gauges.http_connections },
		{ label: 'waiting', colour: 'delayed', of: (said) => said.gauges.requests_waiting },
		{ label: 'calls to Redis', colour: 'ready', of: (said) => said.gauges.redis_calls_in_flight }] },
	{ title: 'Memory', text: bytes, steps: BYTES, series: [
		{ label: 'resident', colour: 'accent', fill: true, of: (said) => said.resident_bytes }] },
];
const SERIES = PLOTS.flatMap((one) => one.series);
// Figures since the page was opened, as far as somebody looked.
const history = new History(SERIES.length, SPAN_S, 5);

export function open(page) {
	const tiles = el('dl', { class: 'tiles', 'aria-label': 'Now' });
	const plots = PLOTS.map(plot);
	const about = facts('What runs');
	const options = facts('Options');
	page.root.append(tiles, el('div', { class: 'grid' }, ...plots.map(({ node }) => node)), el('h2', {}, 'What runs'), about.node,
		el('details', { class: 'card options' }, el('summary', {}, 'Options'), options.node));

	function draw(said) {
		keyed(tiles, glance(said), ([name]) => name, tile);
		let at = 1;
		for (const [index, { series }] of PLOTS.entries()) {
			plots[index].show([history.columns[0], ...history.columns.slice(at, at + series.length)]);
			at += series.length;
		}
	}
	const live = new Stream(page, (said) => {
		history.add(said.at_ms / 1000, SERIES.map(({ of }) => of(said)));
		draw(said);
	});
	return async () => {
		const [info] = await Promise.all([page.ask('GET', '/info'), live.follow()]);
		about.show(running(info));
		options.show(Object.entries(info.options).map(([name, value]) => [`--${name}`, value || '–']));
	};
}

/** The daemon's figures, as long as somebody can see them. */
class Stream {
	constructor(page, hear) {
		Object.assign(this, { page, hear, end: null, heard_at: 0 });
		page.signal.addEventListener('abort', () => this.stop());
		document.addEventListener('visibilitychange', () => document.hidden && this.stop(), { signal: page.signal });
	}

	stop() {
		this.end?.abort();
		this.end = null;
	}

	/** Begins anew where it ended or fell silent; resolves with the first event, and throws what hinders it. */
	async follow() {
		if (this.end && performance.now() - this.heard_at > SILENCE_MS) {
			await this.page.ask('GET', '/healthz'); // Is it still there?
			this.stop(); // Yes, but this machine slept, or something between lost the connection and told nobody.
		}
		if (this.end || document.hidden)
			return;
		const mine = this.end = new AbortController();
		this.heard_at = performance.now();
		await new Promise((resolve, reject) => {
			listen('/info/stream', mine.signal, (event, said) => {
				this.heard_at = performance.now();
				if (event === 'figures')
					this.hear(said);
				resolve();
			}).then(resolve, reject).finally(() => {
				if (this.end === mine)
					this.end = null;
			});
			setTimeout(resolve, SILENCE_MS); // The next look sees to it.
		});
	}
}

function glance(said) {
	return [
		['Requests a second', rough(said.requests_per_second)],
		['Latency, median', took(said.p50_ms)],
		['Latency, 99 %', took(said.p99_ms)],
		['Redis', said.redis_trouble ?? 'answers', said.redis_trouble ? 'bad' : 'good'],
		['Memory', bytes(said.resident_bytes)],
		['Up for', duration(said.uptime_ms)],
	];
}

function tile([name]) {
	const value = el('dd');
	return { node: el('div', {}, el('dt', {}, name), value), update([, text, kind]) {
		setText(value, text);
		value.className = kind ?? '';
	} };
}

const node = ({ address, version, connections }) => `${address} (${version ?? 'unknown version'}, ${number(connections)} connections)`;

function running(info) {
	return [
		['Version', info.version],
		['Since', instant(info.started_at_ms)],
		['Listens on', info.addresses.join(', ')],
		['Health', info.health_address ?? '–'],
		['Mode', info.mode],
		['Redis', info.redis.nodes.map(node).join(', ')],
		['Libraries', Object.entries(info.libraries).map((pair) => pair.join(' ')).join(', ')],
	];
}
