// Everything of a kind, filtered by name: how the views begin.
import { containing, list } from './api.js';
import { el, setText } from './dom.js';
import { plural } from './format.js';
import { sample } from './sample.js';

const PAGES = 20; // requests for one list at most: a page of few names among many keys may be short

/**
 * {what: 'locks', where: the path of the API, name(item): what identifies it, open(name):
 * the route to one, shown: {node, show(items, around)}, none: words for an empty list, make:
 * [method, path, body] of a request that fills it, query(): further parameters, keep(item): whether
 * it is shown, filter: {label, match(text)}}. Answers how to refresh it, which answers the items.
 *
 * Up to 500 names are one block, in which all is sorted; further ones are read when they are
 * turned to.
 */
export function listing(page, options) {
	const { what, where, name, open, shown, none, make, query = () => ({}), keep, filter = {} } = options;
	const { label = `Filter ${what} by name`, match = containing, placeholder } = filter;
	let text = '';
	let cursors = [null]; // of the blocks up to the one that is shown
	let counts = [];
	let next = null;
	const words = el('p');
	const how = make ? sample(...make) : null;
	const empty = el('div', { class: 'card nothing', hidden: true }, words, ...(how ? [how] : []));
	const search = searchForm({
		label,
		placeholder,
		change: (latest) => {
			text = latest;
			begin();
		},
		open: (exact) => {
			location.hash = open(exact);
		},
	});
	const lacking = el('p', { class: 'muted', hidden: true });
	page.root.append(search, shown.node, lacking, empty);

	function begin() {
		cursors = [null];
		counts = [];
		page.refresh();
	}

	async function look() {
		const cursor = cursors.at(-1);
		const asked = text;
		const found = await list(where, {
			match: match(text),
			name,
			cursor,
			pages: PAGES,
			query: query(),
			keep,
			signal: page.signal,
		});
		if (asked !== text || cursor !== cursors.at(-1)) return [];
		next = found.next;
		look.count = found.items.length;
		const before = counts.reduce((sum, one) => sum + one, 0);
		shown.show(found.items, { before, more: found.more });
		const { unreadable, unreadSlots } = found;
		lacking.hidden = unreadable + unreadSlots === 0;
		setText(
			lacking,
			[
				unreadable && `${plural(unreadable, 'name')} whose keys another program or a newer daemon wrote to`,
				unreadSlots && `names in ${plural(unreadSlots, 'slot')} of the Cluster that cannot be read now`,
			]
				.filter(Boolean)
				.map((what) => `Not shown: ${what}.`)
				.join(' '),
		);
		const isEmpty = found.items.length + before + unreadable + unreadSlots === 0 && !found.more;
		const isFiltered = asked !== '' || Object.keys(query()).length > 0;
		empty.hidden = !isEmpty;
		shown.node.hidden = isEmpty;
		setText(words, isFiltered ? `No ${what} match${asked ? ` '${asked}'` : ''}.${literal(asked)}` : none);
		if (how) how.hidden = isFiltered;
		return found.items;
	}
	/** Turns to the next block (1) or the previous one (-1). */
	look.turn = (by) => {
		if (by > 0) {
			cursors.push(next);
			counts.push(look.count);
		} else {
			cursors.pop();
			counts.pop();
		}
		page.refresh();
	};
	look.begin = begin;
	look.filter = (latest) => {
		search.elements[0].value = latest;
		text = latest;
		begin();
	};
	return look;
}

/** Why a pattern of Redis finds nothing here. */
export const literal = (text) => (/[?[]/.test(text) ? ' ? and [ match themselves; * matches any text.' : '');

/** A filter of a list by name; Enter opens that very name, where open(name) is given. */
export function searchForm({ label, placeholder = 'Filter, or a whole name', change, open }) {
	let timer;
	const input = el('input', {
		type: 'search',
		placeholder,
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
				if (open && input.value) open(input.value);
			},
		},
		input,
		open ? el('button', { type: 'submit' }, 'Open') : null,
	);
}
