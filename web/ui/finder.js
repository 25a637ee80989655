// The search that every page has: `/` opens it, it finds a view, or a queue, a lock or a policy by
// a part of its name, and Enter goes there.
import { containing, hasNoList, list } from './api.js';
import { el, keyed, route, setText } from './dom.js';

const PAUSE_MS = 200;
const MOST = 8; // of a kind
const PAGES = 4; // requests for a kind at most: among many names a page may find none
const COMPARED = 100; // names that are compared here: the daemon reads the state of each

const SOURCES = [
	{ kind: 'queue', where: '/queues', view: 'queues' },
	{ kind: 'lock', where: '/locks', view: 'locks' },
	{ kind: 'policy', where: '/ratelimit/policies', view: 'limits' },
];

/** How well a name fits: itself, itself in another case, its beginning, any part. */
function rank(name, text) {
	if (name === text) return 0;
	const [all, part] = [name.toLowerCase(), text.toLowerCase()];
	return all === part ? 1 : all.startsWith(part) ? 2 : 3;
}

/**
 * Names of a list that contain the text. The daemon compares the case of letters, so when it finds
 * few, it is asked for small letters, and the first names of the list are compared here as well.
 */
async function namesIn(where, text, signal) {
	const small = text.toLowerCase();
	const whole = { name: (one) => one.name, pages: PAGES, most: MOST, signal };
	const names = async (options) => (await list(where, { ...whole, ...options })).items.map(({ name }) => name);
	const same = await names({ match: containing(text) });
	if (same.length >= MOST || small === text.toUpperCase()) return same;
	const inSmall = small === text ? [] : await names({ match: containing(small) });
	const keep = ({ name }) => name.toLowerCase().includes(small);
	const others = await names({ keep, pages: 1, query: { limit: COMPARED } });
	return [...new Set([...same, ...inSmall, ...others])].slice(0, MOST);
}

/** Names of one kind that contain the text: {items} or, where they cannot be read, {trouble}. */
async function look({ kind, where, view }, text, signal) {
	try {
		const names = await namesIn(where, text, signal);
		return { items: names.map((name) => ({ name, kind, to: route(view, name) })) };
	} catch (error) {
		if (signal.aborted) throw error;
		if (hasNoList(error)) return { items: [] };
		return { items: [], trouble: error.said?.detail ?? error.message };
	}
}

/** `views`: [[name of the route, title]]. Answers open(). */
export function finder(views) {
	let options = [];
	let chosen = 0;
	let asking = null;
	let timer;
	const rows = el('ul', { id: 'finder-list', role: 'listbox', 'aria-label': 'Found' });
	const status = el('p', { class: 'muted', role: 'status' });
	const input = el('input', {
		type: 'search',
		role: 'combobox',
		'aria-label': 'Search for a queue, a lock, a policy or a page',
		'aria-expanded': 'true',
		'aria-controls': 'finder-list',
		'aria-autocomplete': 'list',
		placeholder: 'A queue, a lock, a policy, a page',
		autocomplete: 'off',
		spellcheck: 'false',
		oninput: () => {
			clearTimeout(timer);
			show(titles());
			timer = setTimeout(search, PAUSE_MS);
		},
		onkeydown: pressed,
	});
	const dialog = el('dialog', { id: 'finder', 'aria-label': 'Search' }, input, rows, status);
	dialog.addEventListener('close', () => asking?.abort());
	dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
	document.body.append(dialog);

	const titles = () => {
		const text = input.value.trim().toLowerCase();
		if (text === '') return [];
		return views
			.filter(([, title]) => title.toLowerCase().includes(text))
			.map(([view, title]) => ({ name: title, kind: 'page', to: view ? route(view) : '#/' }));
	};

	async function search() {
		asking?.abort();
		const text = input.value.trim();
		if (text === '') {
			show([]);
			setText(status, '');
			return;
		}
		const mine = new AbortController();
		asking = mine;
		setText(status, 'Searching');
		try {
			const found = await Promise.all(SOURCES.map((source) => look(source, text, mine.signal)));
			if (mine.signal.aborted) return;
			const names = found.flatMap(({ items }) => items);
			names.sort((a, b) => rank(a.name, text) - rank(b.name, text));
			// A free lock is in no list, and has a page all the same.
			const isListed = names.some(({ name, kind }) => kind === 'lock' && name === text);
			const exact = { name: text, kind: 'lock of this name', to: route('locks', text) };
			const free = isListed ? [] : [exact];
			show([...titles(), ...names, ...free]);
			const troubles = found.map(({ trouble }) => trouble).filter(Boolean);
			const count = options.length - free.length;
			const none = count ? '' : `Nothing is named like '${text}'.`;
			setText(status, troubles.length ? troubles.join(' ') : none);
		} catch {
			// Another search took its place, or the page was left.
		}
	}

	function show(latest) {
		options = latest;
		chosen = 0;
		draw();
	}

	function draw() {
		keyed(rows, options, ({ kind, to }) => `${kind} ${to}`, option);
		[...rows.children].forEach((row, at) => {
			row.id = `finder-${at}`;
			row.setAttribute('aria-selected', String(at === chosen));
		});
		if (options.length) input.setAttribute('aria-activedescendant', `finder-${chosen}`);
		else input.removeAttribute('aria-activedescendant');
		rows.children[chosen]?.scrollIntoView({ block: 'nearest' });
	}

	function option({ to }) {
		const name = el('b');
		const kind = el('span');
		return {
			node: el('li', { role: 'option', onclick: () => follow(to) }, name, kind),
			update(one) {
				setText(name, one.name);
				setText(kind, one.kind);
			},
		};
	}

	function follow(to) {
		dialog.close();
		location.hash = to;
	}

	function pressed(event) {
		const steps = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (steps && options.length) {
			chosen = (chosen + steps + options.length) % options.length;
			draw();
		} else if (event.key === 'Enter' && options[chosen]) follow(options[chosen].to);
		else if (event.key === 'Escape') dialog.close(); // the browser would only clear the text
		else return;
		event.preventDefault();
	}

	return {
		open() {
			if (document.querySelector('dialog[open]')) return;
			input.value = '';
			show([]);
			setText(status, 'Arrow keys choose, Enter opens.');
			dialog.showModal();
			input.focus();
		},
	};
}

/** Whether a key that is pressed there is text. */
export const isTyped = ({ target }) => target.closest?.('input, select, textarea, [contenteditable]') != null;
