// Everything of a kind, filtered by name: how the views begin.
import { list } from './api.js';
import { el } from './dom.js';

/**
 * {what: 'locks', where: the path of the API, name(item): what tells it from others, open(name):
 * the route to one, shown: {node, show(items)}}. Answers how to refresh it, which answers the
 * items.
 */
export function listing(page, { what, where, name, open, shown }) {
	let match = '';
	const more = el('p', { class: 'muted', hidden: true }, 'There are more: filter by name to see others.');
	page.root.append(
		search({
			label: `Filter ${what} by name`,
			change: (text) => {
				match = text;
				page.refresh();
			},
			open: (text) => {
				location.hash = open(text);
			},
		}),
		shown.node,
		more,
	);
	return async () => {
		const found = await list(where, { match, name, signal: page.signal });
		shown.show(found.items);
		more.hidden = !found.more;
		return found.items;
	};
}

/** A filter of a list by name; Enter opens that very name. */
function search({ label, change, open }) {
	let timer;
	const input = el('input', {
		type: 'search',
		placeholder: 'Filter, or a whole name',
		'aria-label': label,
		autocomplete: 'off',
		spellcheck: 'false',
		oninput: () => {
			clearTimeout(timer);
			timer = setTimeout(() => change(input.value), 250);
		},
	});
	return el(
		'form',
		{
			class: 'search',
			role: 'search',
			onsubmit: (event) => {
				event.preventDefault();
				if (input.value) open(input.value);
			},
		},
		input,
		el('button', { type: 'submit' }, 'Open'),
	);
}
