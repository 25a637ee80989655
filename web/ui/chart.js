// Drawings of SVG: bars over days, and bars of parts.
import { el, keyed, setText, svg } from './dom.js';
import { number } from './format.js';

const WIDTH = 720;
const HEIGHT = 160;
const ROOM = 8;

/**
 * Bars with their heading; the same as a table for who cannot see them. show([[label, value], ...])
 */
export function bars({ title, colour }) {
	const drawing = svg('svg', {
		viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
		class: `bars fill-${colour}`,
		'aria-hidden': 'true',
		preserveAspectRatio: 'none',
	});
	const most = el('b', {}, '–');
	const first = el('span');
	const last = el('span');
	const body = el('tbody');
	const numbers = el(
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
			body,
		),
	);
	const node = el(
		'figure',
		{ class: 'card' },
		el(
			'figcaption',
			{},
			el('span', { class: 'name' }, title),
			el('span', { class: 'legend' }, el('span', { class: 'key' }, 'most in a day ', most)),
		),
		drawing,
		el('p', { class: 'ends', 'aria-hidden': 'true' }, first, last),
		numbers,
	);
	return {
		node,
		show(pairs) {
			const highest = Math.max(...pairs.map(([, value]) => Number(value)), 0);
			const step = WIDTH / Math.max(pairs.length, 1);
			setText(most, number(highest));
			setText(first, pairs[0]?.[0] ?? '');
			setText(last, pairs.at(-1)?.[0] ?? '');
			keyed(
				drawing,
				pairs.map(([label, value], at) => ({ label, value, at })),
				({ label }) => label,
				() => bar(),
			);
			for (const { place } of drawing.children_by_key.values()) place(step, highest);
			keyed(body, pairs, ([label]) => label, tableRow);
		},
	};
}

function bar() {
	const title = svg('title');
	const rect = svg('rect', {}, title);
	let item;
	return {
		node: rect,
		update(latest) {
			item = latest;
			setText(title, `${item.label}: ${number(item.value)}`);
		},
		place(step, highest) {
			const height = highest ? ((HEIGHT - ROOM) * Number(item.value)) / highest : 0;
			const gap = step * 0.15;
			const box = { x: item.at * step + gap, width: step - 2 * gap, y: HEIGHT - height, height };
			for (const [name, value] of Object.entries(box)) rect.setAttribute(name, value.toFixed(2));
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

/** One bar of several parts: show([[colour, value, words], ...]) */
export function parts() {
	const drawing = svg('svg', {
		viewBox: '0 0 100 10',
		class: 'parts',
		preserveAspectRatio: 'none',
		'aria-hidden': 'true',
	});
	const legend = el('p', { class: 'legend' });
	return {
		node: el('div', {}, drawing, legend),
		show(all) {
			const sum = all.reduce((total, [, value]) => total + value, 0) || 1;
			let x = 0;
			drawing.replaceChildren(
				...all.map(([colour, value]) => {
					const width = (100 * value) / sum;
					const rect = svg('rect', {
						class: `fill-${colour}`,
						x,
						y: 0,
						width,
						height: 10,
					});
					x += width;
					return rect;
				}),
			);
			keyed(
				legend,
				all,
				([colour]) => colour,
				([colour, , words]) => {
					const value = el('b');
					return {
						node: el('span', { class: `key ${colour}` }, `${words} `, value),
						update: (part) => setText(value, number(part[1])),
					};
				},
			);
		},
	};
}
