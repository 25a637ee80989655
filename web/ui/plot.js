// Plots over time, by uPlot, in the colours of the style sheet.
import { el, setText } from './dom.js';
import { clock } from './format.js';
import { now } from './now.js';

const HEIGHT_PX = 170;
const REDRAW_MS = 5000;
const dark = matchMedia('(prefers-color-scheme: dark)');

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const zones = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' });

/** The zone of all times on the page. */
export const timeZone = () => zones.formatToParts().find(({ type }) => type === 'timeZoneName').value;

/** Steps of an axis: of what is counted, of milliseconds, and of bytes. */
export const COUNTS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((one) => one * 10 ** power)).flat();
export const SPANS = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
	[1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400, 172800, 604800, 2592000, 31536000].map(
		(seconds) => seconds * 1000,
	),
);
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600]; // of the axis of time
export const BYTES = Array.from({ length: 50 }, (_, power) => 2 ** power);

function options(width, { series, text, time, steps, end }) {
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
		cursor: { y: false, points: { size: 6 } },
		padding: [8, 34, 0, 0], // half a label of the time axis
		// From nought, and a minute at least: what hardly moves should not look like noise.
		scales: {
			x: {
				time,
				range: (drawn, first, last) =>
					time ? rangeOf(drawn.data[0], end(), first, last) : [0, last || 1],
			},
			y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] },
		},
		axes: [
			{
				...axis,
				space: 80,
				incrs: time ? SECONDS : undefined,
				size: 24,
				values: (_, ticks) => ticks.map((tick) => (time ? clock(tick * 1000) : `${tick} s`)),
			},
			{ ...axis, size: widthOf, incrs: steps, values: (_, ticks) => ticks.map(text) },
		],
		series: [{}, ...series.map(line)],
	};
}

/**
 * The seconds from `first` to `last`, and a minute at least. If `last` is the latest sample, they
 * continue to `end`. Of one sample uPlot makes a scale of years.
 */
function rangeOf(times, end, first, last) {
	if (times.length === 0) return [0, 1];
	if (times.length === 1) return [Math.min(times[0], end - 60), end];
	const until = last === times.at(-1) ? end : last;
	return [Math.min(first, until - 60), until];
}

/** An axis as wide as its longest label. */
const widthOf = (_, labels) => 14 + 7 * Math.max(3, ...(labels ?? []).map((label) => label.length));

/** Values whose neighbours are gaps: no line would show them. */
function lonely(drawn, series) {
	const values = drawn.data[series];
	const isGap = (at) => (values[at] ?? null) === null;
	return [...values.keys()].filter((at) => !isGap(at) && isGap(at - 1) && isGap(at + 1));
}

function line(one) {
	const stroke = () => colour(one.colour);
	return {
		stroke,
		width: 1.5,
		dash: one.dash,
		fill: one.fill ? () => colour(`${one.colour}-faint`) : undefined,
		paths: one.dots ? () => null : undefined,
		points: { show: true, size: one.dots ? 7 : 4, fill: stroke, filter: one.dots ? undefined : lonely },
		spanGaps: false,
	};
}

/**
 * A plot with its heading. series: [{label, colour, fill, dots, dash}], colours by their names in
 * the style sheet; text(value) for the axis and the legend; `steps` are the axis's; without `time`
 * the seconds count from 0.
 * show(data, shown): seconds, then the values of each series, null being a gap; `shown` is for the
 * legend, if not the latest. The plot is freed when `signal` aborts.
 *
 * The axis of time continues while no sample arrives, so that a chart that is old looks old. It
 * ends as long after the latest sample as that sample has been shown. It is not compared with
 * now(): the clock of samples does not follow when the clock of the daemon's machine is set.
 */
export function plot({ title, series, text, steps, time = true, signal }) {
	const values = series.map(() => el('b', {}, '–'));
	const legend = el(
		'span',
		{ class: 'legend' },
		...series.map((one, at) => el('span', { class: `key ${one.colour}` }, one.label, ' ', values[at])),
	);
	const canvas = el('div', { class: 'plot', 'aria-hidden': 'true' });
	const none = el('p', { class: 'empty' }, 'The first figures come in a few seconds.');
	const node = el(
		'figure',
		{ class: 'card' },
		el('figcaption', {}, el('span', { class: 'name' }, title), legend),
		canvas,
	);
	let data = [[], ...series.map(() => [])];
	let drawn = null;
	let latestAt = now(); // when the latest sample was first shown
	const end = () => data[0].at(-1) + (now() - latestAt) / 1000;

	function draw() {
		drawn?.destroy();
		drawn = null;
		if (data[0].length === 0) canvas.replaceChildren(none);
		if (data[0].length === 0 || canvas.clientWidth === 0) return;
		none.remove();
		drawn = new window.uPlot(options(canvas.clientWidth, { series, text, time, steps, end }), data, canvas);
	}
	const observer = new ResizeObserver(() => {
		if (drawn && canvas.clientWidth > 0) drawn.setSize({ width: canvas.clientWidth, height: HEIGHT_PX });
		else draw();
	});
	observer.observe(canvas);
	dark.addEventListener('change', draw, { signal });
	const timer = time && setInterval(() => drawn?.setData(data), REDRAW_MS);
	// uPlot keeps a list of its plots, so one that is not destroyed stays in memory.
	signal.addEventListener('abort', () => {
		clearInterval(timer);
		observer.disconnect();
		drawn?.destroy();
		drawn = null;
	});

	return {
		node,
		show(latest, shown = latest.slice(1).map((column) => column.at(-1))) {
			if (latest[0].at(-1) !== data[0].at(-1)) latestAt = now();
			data = latest;
			values.forEach((value, at) => setText(value, text(shown[at])));
			if (drawn && data[0].length > 0) drawn.setData(data);
			else draw();
		},
	};
}
