// Sales: what is left, held and sold, when each opens and closes, and its claims.
import { path } from './api.js';
import { back, buttons, el, facts, keyed, route, setText, svg } from './dom.js';
import { duration, exactDuration, number, untilOrAt } from './format.js';
import { listing } from './listing.js';
import { now } from './now.js';
import { expires, removal } from './simple.js';
import { cursorTable, ROWS } from './table.js';

const KIND = {
	path: 'sales',
	one: 'sale',
	name: (sale) => sale.name,
	holds: (sale) => `${number(sale.confirmed)} sold, ${number(sale.held)} held, ${number(sale.remaining)} left`,
	loss: 'Its stock and all claims are removed. A claim that is held can no longer be confirmed.',
};
const make = (name) => ['PUT', path('sales', name), { stock: 100, per_user: 2 }];

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	const cards = el('div', { class: 'grid' });
	return listing(page, {
		what: 'sales',
		where: '/sales',
		name: (one) => one.name,
		open: (name) => route('sales', name),
		shown: { node: cards, show: (items) => keyed(cards, items, (sale) => sale.name, listed) },
		none: 'There are no sales.',
		make: make('shoes'),
	});
}

function openOne(page, name) {
	const shown = card(name);
	const bar = buttons(removal(page, KIND))(() => ({ name }));
	bar.update({ name });
	const claims = cursorTable(
		{
			label: 'Claims',
			key: (one) => one.claim,
			empty: 'No client has claimed anything.',
			columns: [
				{ title: 'User', kind: 'head', text: (one) => one.user, sort: (one) => one.user },
				{ title: 'State', text: (one) => one.state, sort: (one) => one.state },
				{
					title: 'Quantity',
					number: true,
					text: (one) => number(one.quantity),
					sort: (one) => one.quantity,
				},
				{
					title: 'Held for another',
					number: true,
					text: (one) => rest(one),
					sort: (one) => one.expires_at_ms,
				},
				{ title: 'Claim', kind: 'wide code', text: (one) => one.claim },
			],
		},
		(cursor) =>
			page.ask(
				'GET',
				`${path('sales', name, 'claims')}?${new URLSearchParams({ limit: ROWS, ...(cursor && { cursor }) })}`,
			),
		() => page.refresh(),
	);
	page.root.append(
		back('sales', 'All sales'),
		...(page.write ? [bar.node] : []),
		shown.node,
		el('h2', {}, 'Claims'),
		claims.node,
	);
	return async () => {
		const sale = await page.one(path('sales', name), {
			what: 'sale',
			name,
			list: 'sales',
			make: make(name),
		});
		if (!sale) return;
		shown.update(sale);
		await claims.look();
	};
}

const rest = ({ state, expires_at_ms: at }) =>
	state === 'held' && at !== null ? duration(Math.max(0, at - now())) : '–';

/** A sale in the list, whose name leads to its page. */
function listed({ name }) {
	return card(name, el('h2', {}, el('a', { href: route('sales', name) }, name)));
}

function card(name, heading = null) {
	const state = el('span', { class: 'badge' });
	const stock = stockBar();
	const about = facts(`Sale ${name}`);
	return {
		node: el(
			'section',
			{ class: 'card sale', 'aria-label': name },
			el('div', { class: 'buttons' }, ...(heading ? [heading] : []), state),
			stock.node,
			about.node,
		),
		update(sale) {
			const shown =
				sale.state === 'open' && sale.remaining === 0
					? sale.held
						? 'all held'
						: 'sold out'
					: sale.state;
			setText(state, shown);
			state.className = `badge ${shown.replace(' ', '-')}`;
			stock.show(sale);
			about.show([
				['Stock', number(sale.stock)],
				[
					'Per user',
					sale.per_user === null ? 'any number' : `${number(sale.per_user)} at most`,
				],
				['Held for', exactDuration(sale.hold_ms)],
				['Opens', { at: sale.opens_at_ms, words: untilOrAt, none: 'from the start' }],
				['Closes', { at: sale.closes_at_ms, words: untilOrAt, none: 'never' }],
				['Expires', expires(sale)],
			]);
		},
	};
}

/** One bar of what is sold, held and left. */
function stockBar() {
	const drawing = svg('svg', {
		viewBox: '0 0 100 10',
		class: 'parts',
		preserveAspectRatio: 'none',
		'aria-hidden': 'true',
	});
	const legend = el('p', { class: 'legend' });
	return {
		node: el('div', {}, drawing, legend),
		show({ confirmed, held, remaining }) {
			const parts = [
				['good', confirmed, 'sold'],
				['delayed', held, 'held'],
				['idle', remaining, 'left'],
			];
			const sum = confirmed + held + remaining || 1;
			let x = 0;
			drawing.replaceChildren(
				...parts.map(([colour, value]) => {
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
			keyed(legend, parts, ([colour]) => colour, partLabel);
		},
	};
}

function partLabel([colour, , words]) {
	const value = el('b');
	return {
		node: el('span', { class: `key ${colour}` }, `${words} `, value),
		update: (part) => setText(value, number(part[1])),
	};
}
