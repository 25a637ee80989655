// Counts of days: bars by uPlot with their axes, the same as a table, and a line to glance at.
import { el, keyed, setText, svg } from './dom.js';
import { number, rough } from './format.js';

const HEIGHT_PX = 200;
const DAY_S = 86400;
const SPARK = { width: 120, height: 24 };

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const seconds = (day) => Date.parse(`${day}T00:00:00Z`) / 1000;
const dayOf = (at) => new Date(at * 1000).toISOString().slice(0, 10);

function options(width, name) {
	const axis = {
		stroke: () => colour('muted'),
		grid: { stroke: () => colour('line'), width: 1 },
		ticks: { show: false },
		font: '11px system-ui',
	};
	return {
		width,
		height: HEIGHT_PX,
		legend: { show: false },
		cursor: { y: false, points: { show: false } },
		padding: [8, 28, 0, 0],
		scales: {
			x: { time: false, range: (_, first, last) => [first - DAY_S / 2, last + DAY_S / 2] },
			y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] },
		},
		axes: [
			{
				...axis,
				size: 28,
				space: 90,
				incrs: [1, 2, 7, 14, 30, 61, 91, 183, 365].map((days) => days * DAY_S),
				values: (_, ticks) => ticks.map(dayOf),
				grid: { show: false },
			},
			{
				...axis,
				size: 60,
				incrs: Array.from({ length: 16 }, (_, power) =>
					[1, 2, 5].map((one) => one * 10 ** power),
				).flat(),
				values: (_, ticks) => ticks.map(rough),
			},
		],
		series: [
			{},
			{
				fill: () => colour(name),
				width: 0,
				points: { show: false },
				paths: window.uPlot.paths.bars({ size: [0.75, 60] }),
			},
		],
	};
}

/** show([[day, count], ...]), the earliest first. The bars are freed when `signal` aborts. */
export function bars({ title, colour: name, signal }) {
	const legend = el('span', { class: 'legend' });
	const canvas = el('div', { class: 'plot tall', 'aria-hidden': 'true' });
	const rows = el('tbody');
	const node = el(
		'figure',
		{ class: 'card' },
		el('figcaption', {}, el('span', { class: 'name' }, title), legend),
		canvas,
		el(
			'details',
			{},
			el('summary', {}, 'As a table'),
			el(
				'table',
				{ 'aria-label': title },
				el(
					'thead',
					{},
					el(
						'tr',
						{},
						el('th', { scope: 'col' }, 'Day'),
						el('th', { scope: 'col', class: 'number' }, 'Count'),
					),
				),
				rows,
			),
		),
	);
	let pairs = [];
	let drawn = null;
	let drawnAs = '';

	function draw() {
		const width = canvas.clientWidth;
		const as = JSON.stringify([width, pairs]);
		if (width === 0 || pairs.length === 0 || as === drawnAs) return;
		drawnAs = as;
		drawn?.destroy();
		const data = [pairs.map(([day]) => seconds(day)), pairs.map(([, value]) => value)];
		const plot = options(width, name);
		plot.hooks = { setCursor: [(at) => tell(pairs[at.cursor.idx])] };
		drawn = new window.uPlot(plot, data, canvas);
		tell(null);
	}
	/** The day that is pointed at, else the highest. */
	function tell(pair) {
		const highest = pairs.reduce((most, one) => (one[1] > most[1] ? one : most), ['', -1]);
		const [day, value] = pair ?? highest;
		setText(legend, day ? `${pair ? '' : 'most: '}${number(value)} on ${day}` : '');
	}
	const observer = new ResizeObserver(draw);
	observer.observe(canvas);
	signal.addEventListener('abort', () => {
		observer.disconnect();
		drawn?.destroy();
	});
	return {
		node,
		show(latest) {
			pairs = latest;
			draw();
			keyed(rows, pairs.toReversed(), ([day]) => day, tableRow);
		},
	};
}

function tableRow() {
	const label = el('td', { 'data-title': 'Day' });
	const value = el('td', { class: 'number', 'data-title': 'Count' });
	return {
		node: el('tr', {}, label, value),
		update(pair) {
			setText(label, pair[0]);
			setText(value, number(pair[1]));
		},
	};
}

/** A line of a few counts, for a cell of a table: show([count, ...]) */
export function spark(name) {
	const { width, height } = SPARK;
	const line = svg('polyline', { class: `line-${name}` });
	const node = svg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' }, line);
	return {
		node,
		show(counts) {
			const highest = Math.max(...counts, 1);
			const points = counts.map((count, at) => {
				const x = (width * at) / Math.max(counts.length - 1, 1);
				return `${x.toFixed(1)},${(height - 2 - ((height - 4) * count) / highest).toFixed(1)}`;
			});
			line.setAttribute('points', points.join(' '));
		},
	};
}
