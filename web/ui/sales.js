// Sales: what is left, what is held, what is sold, and when it opens and closes.
import { list, path } from './api.js';
import { parts } from './chart.js';
import { el, facts, route, search, setText, keyed } from './dom.js';
import { duration, instant, number } from './format.js';

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	let match = '';
	const cards = el('div', { class: 'grid' });
	const none = el('p', { class: 'empty', hidden: true }, 'There are no sales.');
	const more = el('p', { class: 'muted', hidden: true }, 'There are more: filter by name to see others.');
	page.root.append(search({ label: 'Filter sales by name', change: (text) => { match = text; page.refresh(); },
		open: (name) => { location.hash = route('sales', name); } }), cards, none, more);
	return async () => {
		const { items, more: left } = await list('/sales', { match, name: (sale) => sale.sale, signal: page.signal });
		keyed(cards, items, (sale) => sale.sale, card);
		none.hidden = items.length > 0;
		more.hidden = !left;
	};
}

function openOne(page, name) {
	const place = el('div', { class: 'stack' });
	page.root.append(el('a', { class: 'back', href: '#/sales' }, 'All sales'), place);
	return async () => {
		const sale = await page.ask('GET', path('sales', name));
		keyed(place, [sale], () => name, card);
	};
}

function card({ sale: name }) {
	const state = el('span', { class: 'badge' });
	const stock = parts();
	const about = facts(`Sale ${name}`);
	const node = el('section', { class: 'card sale', 'aria-label': name },
		el('h2', {}, el('a', { href: route('sales', name) }, name), ' ', state), stock.node, about.node);
	return { node, update(sale) {
		setText(state, sale.state);
		state.className = `badge ${sale.state}`;
		stock.show([['good', sale.confirmed, 'sold'], ['delayed', sale.held, 'held'], ['idle', sale.remaining, 'left']]);
		about.show([
			['Stock', number(sale.stock)],
			['A user', `${number(sale.per_user)} at most`],
			['Held for', duration(sale.hold_ms)],
			['Opens', when(sale.opens_at_ms)],
			['Closes', sale.closes_at_ms ? when(sale.closes_at_ms) : 'never'],
		]);
	} };
}

function when(at) {
	const rest = at - Date.now();
	return rest > 0 ? `in ${duration(rest)}` : instant(at);
}
