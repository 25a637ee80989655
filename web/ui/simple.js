// The view of a simple kind: a list with a filter, the state of one, deletion, and the request that
// makes one. kinds.js has what differs from kind to kind.
import { isListed, path } from './api.js';
import { askUser, confirmRemoval } from './dialog.js';
import { back, buttons, el, facts, route } from './dom.js';
import { expiry } from './format.js';
import { listing } from './listing.js';
import { command, words } from './sample.js';
import { cursorTable, ROWS, table } from './table.js';

export function viewOf(kind) {
	return { open: (page) => (page.names.length ? openOne(page, kind, page.names[0]) : openAll(page, kind)) };
}

/**
 * A button that removes one of a kind, after a question. at(item) is its path where that is not the
 * one of its name, about(item) what the button is about.
 */
export function removal(page, kind) {
	const { path: where, one, name, loss, holds, about = name, at = (item) => path(where, name(item)) } = kind;
	return {
		label: 'Delete',
		about,
		danger: true,
		act: async (item) => {
			const sure = await confirmRemoval({
				title: `Delete the ${one} '${name(item)}'?`,
				go: `Delete ${one}`,
				text: `${holds ? await contents(page, at(item), holds) : ''}${loss}`,
			});
			if (sure)
				await page.act(
					'DELETE',
					at(item),
					undefined,
					() => `The ${one} '${name(item)}' is deleted.`,
				);
		},
	};
}

/** How much there is, as of now and as far as this token may know. */
async function contents(page, at, holds) {
	try {
		return `It holds: ${holds(await page.ask('GET', at))}. `;
	} catch {
		return '';
	}
}

/** When something expires, as a value of facts. */
export const expires = ({ expires_at_ms: at }) => ({ at, words: expiry, none: 'never' });

/** The expiry as a column. */
export const EXPIRES = {
	title: 'Expires',
	time: (item) => item.expires_at_ms,
	words: expiry,
	none: 'never',
	sort: (item) => item.expires_at_ms,
};

function openAll(page, kind) {
	const { one, path: where, view, name, columns, expires, none, make } = kind;
	const all = table({
		label: kind.title,
		key: name,
		turn: (by) => look.turn(by),
		columns: [
			{
				title: one.replace(/^./, (first) => first.toUpperCase()),
				kind: 'head',
				text: name,
				sort: name,
				link: (item) => route(view, name(item)),
			},
			...columns,
			...(expires ? [EXPIRES] : []),
			...(page.write ? [{ title: '', kind: 'actions', make: buttons(removal(page, kind)) }] : []),
		],
	});
	const look = listing(page, {
		what: kind.title.toLowerCase(),
		where: path(where),
		name,
		open: (exact) => route(view, exact),
		shown: all,
		none,
		make: make('example'),
	});
	return look;
}

function openOne(page, kind, name) {
	const { one, path: where, view, exists, listed, parts = [], make } = kind;
	const at = path(where, name);
	const item = { name, key: name };
	const bar = buttons(removal(page, kind))(() => item);
	bar.update(item);
	const about = facts(one);
	const shown = parts.map((part) => partOf(page, at, part));
	page.root.append(
		back(view, `All ${kind.all ?? kind.title.toLowerCase()}`),
		...(page.write ? [bar.node] : []),
		about.node,
		...shown.flatMap(({ title, node }) => [el('h2', {}, title), node]),
		el('p', { class: 'muted' }, 'The same as a request: ', el('code', {}, ...words(command('GET', at)))),
	);
	const isThere = () => isListed(path(where), name, page.signal);
	return async () => {
		const state = await page.one(at + (kind.query?.() ?? ''), {
			what: one,
			name,
			list: view,
			exists: exists && (async (found) => exists(found) || (listed && (await isThere()))),
			make: make(name),
		});
		if (!state) return;
		const more = kind.also ? await kind.also(page, at, state) : {};
		about.show([
			...kind.facts({ ...state, ...more }),
			...(kind.expires ? [['Expires', expires(state)]] : []),
		]);
		for (const part of shown) await part.look(state);
	};
}

/** What can be done to something inside of one: it is removed, or set to what the user gives. */
function actions(page, at, { remove, set }) {
	if (!remove || !page.write) return [];
	const inside = (item) => at + path(...remove.at(item));
	const about = (item) => `${remove.one} ${remove.name(item)}`;
	const setting = {
		label: 'Set',
		about,
		act: async (item) => {
			const title = `Set the ${remove.one} '${remove.name(item)}'`;
			const said = await askUser({ title, go: 'Set', fields: set.fields(item) });
			if (said)
				await page.act(
					'PUT',
					inside(item),
					set.body(said),
					() => `The ${remove.one} '${remove.name(item)}' is set.`,
				);
		},
	};
	const make = buttons(...(set ? [setting] : []), removal(page, { ...remove, about, at: inside }));
	return [{ title: '', kind: 'actions', make }];
}

/** What is inside of one: rows of its state, its own list, or a value as it is. */
function partOf(page, at, part) {
	const { title, columns, rows, list, key, empty, value } = part;
	if (value) {
		const node = el('pre', { class: 'card' });
		return { title, node, look: (state) => (node.textContent = value(state)) };
	}
	const options = { label: title, columns: [...columns, ...actions(page, at, part)], key, empty };
	if (rows) {
		const made = table(options);
		return { title, node: made.node, look: (state) => made.show(rows(state)) };
	}
	const made = cursorTable(
		options,
		async (cursor) => {
			const query = new URLSearchParams({ limit: ROWS, ...(cursor && { cursor }) });
			return page.ask('GET', `${at}/${list}?${query}`);
		},
		() => page.refresh(),
	);
	return { title, node: made.node, look: made.look };
}
