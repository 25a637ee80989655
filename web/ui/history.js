// The figures of one queue, lock or policy over the last five minutes: the daemon takes them while
// a page looks, and for five minutes after.
import { Gone, hasNoList } from './api.js';
import { el } from './dom.js';
import { number, rough } from './format.js';
import { COUNTS, plot } from './plot.js';

const MOST = 60; // samples that the daemon keeps
const SPAN_MS = 60_000; // of a rate per minute
const SLACK_MS = 6000; // more than an interval of the samples
const GAPS = 2.5; // intervals without a sample make a gap

/**
 * Returns a function that asks for the new samples of one daemon, and returns all that it has:
 * {samples, interval_ms}, the earliest first. Samples that another daemon took, or this one before
 * it restarted, are forgotten: a total that begins again would look like a fall.
 */
export function samplesOf(page, at, most) {
	let samples = [];
	let started = null;
	const ask = () => page.ask('GET', `${at}/history?after_at_ms=${samples.at(-1)?.at_ms ?? 0}`);
	return async () => {
		let found = await ask();
		if (found.started_at_ms !== started && samples.length > 0) {
			samples = [];
			found = await ask();
		}
		started = found.started_at_ms;
		samples = [...samples, ...found.samples].slice(-most);
		return { samples, interval_ms: found.interval_ms };
	};
}

/** The token lacks the scope, or the daemon keeps no history of locks on a quorum. */
const hasNone = (error) => error.said?.status === 403 || hasNoList(error);

/**
 * Plots of a history: [{title, text, series: [{label, colour, of(sample, before)}]}]; of() answers
 * a value, or null where it is not known. {node, look(): the samples, the earliest first}. The node
 * is hidden where there is no history for this token. A look that fails does not throw, because the
 * rest of the page does not need the history: the page shows the problem, and the plots are stale.
 */
export function historyOf(page, at, plots) {
	const drawn = plots.map((one) => plot({ text: number, steps: COUNTS, signal: page.signal, ...one }));
	const node = el('div', { class: 'plots', hidden: true }, ...drawn.map((one) => one.node));
	const read = samplesOf(page, at, MOST);
	return {
		node,
		async look() {
			let found;
			try {
				found = await read();
			} catch (error) {
				if (error instanceof Gone) throw error;
				if (!hasNone(error)) page.lacks(error);
				node.hidden ||= hasNone(error);
				node.classList.add('stale');
				return [];
			}
			node.hidden = false;
			node.classList.remove('stale');
			plots.forEach(({ series }, index) =>
				drawn[index].show(columns(found.samples, series, found.interval_ms * GAPS)),
			);
			return found.samples;
		},
	};
}

/** Seconds, then the values of each series; a pause between samples is a gap. */
export function columns(samples, series, gap_ms) {
	const rows = [];
	let before = null;
	for (const one of samples) {
		if (before && one.at_ms - before.at_ms > gap_ms) {
			rows.push([before.at_ms / 1000 + 1, ...series.map(() => null)]);
			before = null;
		}
		const earlier = before;
		rows.push([one.at_ms / 1000, ...series.map(({ of }) => of(one, earlier))]);
		before = one;
	}
	return [0, ...series].map((_, at) => rows.map((row) => row[at]));
}

/** How much a total grew in `per` milliseconds; null for the first sample, and after a reset. */
export const growth = (of, per) => (one, before) => {
	if (!before) return null;
	const change = of(one) - of(before);
	return change < 0 ? null : (change * per) / (one.at_ms - before.at_ms);
};

/** The growth over the latest minute, in words: '–' until the samples cover that minute. */
export function lately(samples, of) {
	const last = samples.at(-1);
	const first = samples.find(({ at_ms: at }) => last.at_ms - at <= SPAN_MS + SLACK_MS);
	if (!last || last.at_ms - first.at_ms < SPAN_MS - SLACK_MS) return '–';
	const rate = growth(of, SPAN_MS)(last, first);
	return rate === null ? '–' : rough(rate);
}
