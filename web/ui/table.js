// Tables that keep their rows: sorted by a column, 50 rows a page, with rows to select.
import { el, keyed, moment, setText } from './dom.js';
import { instantInZone, inZone, number } from './format.js';

export const ROWS = 50;

/**
 * A column: {title, text(item)} for words, with link(item) for linked ones, or {title,
 * make(current)} for a node and its update: current() is the row's item, or {title, time(item),
 * words(ms), none} for a point in time, as moment has it; without `words` the heading has the zone.
 * `number` aligns to the right; sort(item) is what the column is sorted by, the highest first if
 * `number`. A column is hidden while blank(item) holds for each row.
 *
 * show(items, {before, more, isFirst}): `before` items come before these, `more` may follow.
 * turn(by) is then asked for the next (1) or the previous (-1) of them. With `select` rows have
 * check boxes: selected() are the items of those that are checked; select() is called after each
 * change.
 */
export function table({ label, columns, key, empty = '', turn, select }) {
	const body = el('tbody');
	const none = el('p', { class: 'empty', hidden: true }, empty);
	const pages = pager((by) => step(by));
	const chosen = new Set();
	let items = [];
	let around = { before: 0, more: false, isFirst: true };
	let first = 0;
	let order = null; // {column, down}

	const heads = columns.map((column) => head(column, () => sortBy(column)));
	const all = select ? checkbox('All on this page', chooseAll) : null;
	const shown = select ? [selection(chosen, key, label, changed), ...columns] : columns;
	const whole = el(
		'table',
		{ 'aria-label': label, hidden: true },
		el(
			'thead',
			{},
			el(
				'tr',
				{},
				...(all ? [el('td', { class: 'check' }, all)] : []),
				...heads.map(({ node }) => node),
			),
		),
		body,
	);

	function sortBy(column) {
		if (order?.column === column) order.down = !order.down;
		else order = { column, down: Boolean(column.number) };
		first = 0;
		heads.forEach((one, at) => one.sorted(columns[at] === column ? order : null));
		draw();
	}

	function step(by) {
		const next = first + by * ROWS;
		if (next >= 0 && next < items.length) first = next;
		else if (by > 0 ? around.more : !around.isFirst) {
			first = 0;
			turn(by);
			return;
		}
		draw();
	}

	function onPage() {
		return (order ? sorted(items, order) : items).slice(first, first + ROWS);
	}

	function chooseAll() {
		for (const item of onPage()) {
			if (all.checked) chosen.add(key(item));
			else chosen.delete(key(item));
		}
		changed();
	}

	function changed() {
		draw();
		select?.();
	}

	function draw() {
		if (first >= items.length) first = 0;
		const rows = onPage();
		keyed(body, rows, key, (item) => tableRow(shown, item));
		shown.forEach(({ blank }, at) => {
			const isBlank = blank !== undefined && rows.every(blank);
			for (const { cells } of whole.rows) cells[at].hidden = isBlank;
		});
		whole.hidden = items.length === 0;
		none.hidden = items.length > 0 || !empty;
		pages.show({
			before: around.before + first,
			count: rows.length,
			total: around.before + items.length,
			more: around.more,
			isFirst: first === 0 && around.isFirst,
		});
		if (all) all.checked = rows.length > 0 && rows.every((item) => chosen.has(key(item)));
	}

	return {
		node: el('div', { class: 'card flush' }, whole, none, pages.node),
		show(latest, { before = 0, more = false, isFirst = before === 0 } = {}) {
			items = latest;
			around = { before, more, isFirst };
			const there = new Set(items.map(key));
			for (const one of chosen) if (!there.has(one)) chosen.delete(one);
			draw();
		},
		onPage,
		redraw: draw,
		selected: () => items.filter((item) => chosen.has(key(item))),
		unselect() {
			chosen.clear();
			changed();
		},
	};
}

const names = new Intl.Collator('en', { numeric: true });

function compare(a, b) {
	if (a === b) return 0;
	if (a === null || a === undefined) return -1;
	if (b === null || b === undefined) return 1;
	return typeof a === 'string' ? names.compare(a, b) : a - b;
}

function sorted(items, { column, down }) {
	const sign = down ? -1 : 1;
	return items.toSorted((a, b) => sign * compare(column.sort(a), column.sort(b)));
}

const titleOf = ({ title, time, words }) => (time && !words ? inZone(title) : title);

function head(column, press) {
	const { number: isNumber, kind, sort } = column;
	const title = titleOf(column);
	const words = sort ? el('button', { type: 'button', class: 'sort', onclick: press }, title) : title;
	const node = title
		? el('th', { scope: 'col', class: isNumber ? 'number' : null }, words)
		: el('td', { class: kind ?? null });
	return {
		node,
		sorted(order) {
			if (order) node.setAttribute('aria-sort', order.down ? 'descending' : 'ascending');
			else node.removeAttribute('aria-sort');
		},
	};
}

function tableRow(columns, first) {
	let item = first;
	const cells = columns.map((column) => cell(column, () => item));
	const node = el('tr', {}, ...cells.map((one) => one.node));
	return {
		node,
		update(latest) {
			item = latest;
			for (const { update } of cells) update(item);
		},
	};
}

function cell(column, current) {
	const { number: isNumber, text, link, make, time, words = instantInZone, none, kind } = column;
	const made = make ? make(current) : time ? timed(time, words, none) : linked(text, link);
	const classes = [isNumber && 'number', kind].filter(Boolean).join(' ');
	const node = el('td', { 'data-title': titleOf(column), class: classes || null }, made.node);
	return { node, update: made.update };
}

function timed(time, words, none) {
	const { node, update } = moment(words, none);
	return { node, update: (item) => update(time(item)) };
}

function linked(text, link) {
	const node = el(link ? 'a' : 'span');
	return {
		node,
		update(item) {
			setText(node, text(item));
			if (link) node.setAttribute('href', link(item));
		},
	};
}

function checkbox(label, change) {
	return el('input', { type: 'checkbox', 'aria-label': label, onchange: change });
}

/** The column of check boxes. */
function selection(chosen, key, label, changed) {
	return {
		title: '',
		kind: 'check',
		make: (current) => {
			const box = checkbox('', () => {
				if (box.checked) chosen.add(key(current()));
				else chosen.delete(key(current()));
				changed();
			});
			return {
				node: box,
				update(item) {
					box.checked = chosen.has(key(item));
					box.setAttribute('aria-label', `Select ${key(item)}`);
				},
			};
		},
	};
}

/** "51 to 100 of 312", and the ways to others; hidden while all is on one page. */
function pager(turn) {
	const words = el('span');
	const previous = el('button', { type: 'button', class: 'quiet', onclick: () => turn(-1) }, 'Previous');
	const next = el('button', { type: 'button', class: 'quiet', onclick: () => turn(1) }, 'Next');
	const node = el('nav', { class: 'pager', 'aria-label': 'Pages', hidden: true }, words, previous, next);
	return {
		node,
		/** `count` items after `before` others, of `total` or more; `more` may follow. */
		show({ before, count, total, more, isFirst }) {
			const last = before + count;
			const all = more && last === total ? '' : ` of ${number(total)}${more ? ' and more' : ''}`;
			setText(words, count ? `${number(before + 1)} to ${number(last)}${all}` : 'None here');
			previous.disabled = isFirst;
			next.disabled = !more && last >= total;
			node.hidden = previous.disabled && next.disabled;
		},
	};
}

/**
 * A table of a list that continues by cursor, one request a page. read(cursor) answers {items,
 * next_cursor}; refresh() is asked for after a turn.
 */
export function cursorTable(options, read, refresh) {
	let cursors = [null]; // of the pages up to the one that is shown
	let counts = []; // of the items on those before it
	let onward = null;
	let count = 0;
	const inner = table({
		...options,
		turn(by) {
			if (by > 0) {
				cursors.push(onward);
				counts.push(count);
			} else {
				cursors.pop();
				counts.pop();
			}
			refresh();
		},
	});
	return {
		...inner,
		reset() {
			cursors = [null];
			counts = [];
		},
		/** Answers the items, or null when the page was turned before they came. */
		async look() {
			const cursor = cursors.at(-1);
			const depth = cursors.length;
			const found = await read(cursor);
			if (depth !== cursors.length || cursor !== cursors.at(-1)) return null;
			onward = found.next_cursor;
			count = found.items.length;
			const before = counts.reduce((sum, one) => sum + one, 0);
			inner.show(found.items, { before, more: onward !== null, isFirst: depth === 1 });
			return found.items;
		},
	};
}
