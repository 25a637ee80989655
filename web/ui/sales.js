// Sales: what is left, what is held, what is sold, and when it opens and closes.
import { path } from './api.js';
import { parts } from './chart.js';
import { el, facts, route, setText, keyed } from './dom.js';
import { duration, instant, number } from './format.js';
import { listing } from './listing.js';

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	const cards = el('div', { class: 'grid' });
	const none = el('p', { class: 'empty', hidden: true }, 'There are no sales.');
	const all = {
		node: el('div', {}, cards, none),
		show(items) {
			keyed(cards, items, (sale) => sale.name, card);
			none.hidden = items.length > 0;
		},
	};
	return listing(page, {
		what: 'sales',
		where: '/sales',
		name: (one) => one.name,
		open: (name) => route('sales', name),
		shown: all,
	});
}

function openOne(page, name) {
	const place = el('div', { class: 'stack' });
	page.root.append(el('a', { class: 'back', href: '#/sales' }, 'All sales'), place);
	return async () => {
		const sale = await page.ask('GET', path('sales', name));
		keyed(place, [sale], () => name, card);
	};
}

function card({ name }) {
	const state = el('span', { class: 'badge' });
	const stock = parts();
	const about = facts(`Sale ${name}`);
	const node = el(
		'section',
		{ class: 'card sale', 'aria-label': name },
		el('h2', {}, el('a', { href: route('sales', name) }, name), ' ', state),
		stock.node,
		about.node,
	);
	return {
		node,
		update(sale) {
			setText(state, sale.state);
			state.className = `badge ${sale.state}`;
			stock.show([
				['good', sale.confirmed, 'sold'],
				['delayed', sale.held, 'held'],
				['idle', sale.remaining, 'left'],
			]);
			about.show([
				['Stock', number(sale.stock)],
				['A user', `${number(sale.per_user)} at most`],
				['Held for', duration(sale.hold_ms)],
				['Opens', sale.opens_at_ms ? when(sale.opens_at_ms) : 'from the start'],
				['Closes', sale.closes_at_ms ? when(sale.closes_at_ms) : 'never'],
				['Expires', sale.expires_at_ms ? when(sale.expires_at_ms) : 'never'],
			]);
		},
	};
}

function when(at) {
	const rest = at - Date.now();
	return rest > 0 ? `in ${duration(rest)}` : instant(at);
}
