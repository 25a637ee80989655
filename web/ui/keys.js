// The keys in Redis as they are: by prefix and type, how long they live, and what is inside.
import { containing, path } from './api.js';
import { askUser, confirmRemoval, durationField, field } from './dialog.js';
import { back, buttons, el, facts, keyed, route, setText } from './dom.js';
import { duration, exactDuration, number, parseDuration, plural } from './format.js';
import { listing, literal, searchForm } from './listing.js';
import { cursorTable, ROWS, table } from './table.js';

const ANY = 'any type';
const TYPES = [ANY, 'string', 'hash', 'list', 'set', 'zset', 'stream'];
const lives = ({ ttl_ms: ttl }) => (ttl === null ? 'for ever' : duration(ttl));

export function open(page) {
	return page.names.length ? openOne(page, ...page.names) : openAll(page);
}

const routeTo = ({ key, key_base64: bytes }) => (bytes ? route('keys', key, bytes) : route('keys', key));

/** The path of a key; of one that is not UTF-8 by its bytes. */
function pathTo(key, base64) {
	if (!base64) return path('keys', key);
	const bytes = [...atob(base64)].map((one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
	return `/keys/${bytes.join('')}`;
}

function removal(page) {
	return {
		label: 'Delete',
		about: (item) => item.key,
		danger: true,
		act: async (item) => {
			const sure = await confirmRemoval({
				title: `Delete the key '${item.key}'?`,
				go: 'Delete key',
				text:
					`${await contents(page, item)} A resource may have several keys. ` +
					'Deleting one of them can leave it incomplete; prefer the page of its kind.',
			});
			if (sure)
				await page.act(
					'DELETE',
					pathTo(item.key, item.key_base64),
					undefined,
					() => `The key '${item.key}' is deleted.`,
				);
		},
	};
}

/** What a key holds, in a sentence; nothing where it cannot be read. */
async function contents(page, { key, key_base64: base64 }) {
	try {
		const { type, size } = await page.ask('GET', pathTo(key, base64));
		if (size === null) return '';
		return type === 'string' ? `It holds ${plural(size, 'byte')}.` : `It is a ${type} of ${plural(size, 'element')}.`;
	} catch {
		return '';
	}
}

// Records of Idempotency-Key and lists of names: the daemon makes them by itself, and /ui by each
// of its actions.
const OWN = /^(idem|names):/;

function openAll(page) {
	const all = table({
		label: 'Keys',
		key: (one) => one.key_base64 ?? one.key,
		turn: (by) => look.turn(by),
		columns: [
			{ title: 'Key', kind: 'head', text: (one) => one.key, sort: (one) => one.key, link: routeTo },
			{ title: 'Type', text: (one) => one.type, sort: (one) => one.type },
			{
				title: 'Lives',
				number: true,
				text: lives,
				sort: (one) => one.ttl_ms ?? Infinity,
			},
			...(page.write ? [{ title: '', kind: 'actions', make: buttons(removal(page)) }] : []),
		],
	});
	const type = field({ label: 'Type', name: 'type', options: TYPES });
	const select = type.lastChild;
	select.onchange = () => look.begin();
	const own = el('input', { type: 'checkbox', onchange: () => look.begin() });
	const prefixes = el('div', { class: 'buttons', role: 'group', 'aria-label': 'Prefixes on this page' });
	page.root.append(
		el(
			'p',
			{ class: 'muted' },
			'Keys below the prefix of this daemon. The name begins with what is typed.',
		),
	);
	const look = listing(page, {
		what: 'keys',
		where: '/keys',
		name: (one) => one.key_base64 ?? one.key,
		open: (name) => route('keys', name),
		shown: all,
		none: 'Redis has no key of this daemon.',
		keep: ({ key }) => own.checked || OWN.test(search.elements[0].value) || !OWN.test(key),
		query: () => (select.value === ANY ? {} : { type: select.value }),
		filter: {
			label: 'Keys that begin with',
			placeholder: 'Prefix, or a whole key',
			match: (text) => (text === '' || text.includes('*') ? text : `${text}*`),
		},
	});
	const search = page.root.querySelector('.search');
	search.after(prefixes);
	search.append(type);
	prefixes.before(el('label', { class: 'choice' }, own, "The daemon's own records too"));
	return async () => {
		const counts = new Map();
		for (const { key } of await look()) {
			const prefix = /^[^:{]*:/.exec(key)?.[0];
			if (prefix) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
		}
		keyed(
			prefixes,
			[...counts].sort(),
			([prefix]) => prefix,
			([prefix]) => prefixButton(prefix, look),
		);
	};
}

function prefixButton(prefix, look) {
	const count = el('b');
	const node = el(
		'button',
		{ type: 'button', class: 'quiet', onclick: () => look.filter(prefix) },
		prefix,
		' ',
		count,
	);
	return { node, update: ([, found]) => setText(count, number(found)) };
}

const ELEMENTS = [
	{ title: 'Element', kind: 'head', text: (one) => one.field ?? one.member ?? String(one.index) },
	{
		title: 'Value',
		kind: 'wide code',
		text: (one) => one.value ?? (one.score === undefined ? '–' : `score ${one.score}`),
	},
];

function openOne(page, key, base64) {
	const at = pathTo(key, base64);
	const item = { key, key_base64: base64 };
	const bar = buttons(
		{ label: 'Set time to live', about: () => key, act: () => setTtl(page, at, key) },
		removal(page),
	)(() => item);
	bar.update(item);
	const about = facts('Key');
	const inside = el('div', { class: 'stack' });
	let match = '';
	const search = searchForm({
		label: 'Filter elements',
		placeholder: 'Filter by field, member or value of a list',
		change: (latest) => {
			match = latest;
			elements.reset();
			page.refresh();
		},
	});
	const hint = el('p', { class: 'muted', hidden: true });
	const elements = cursorTable(
		{
			label: 'Elements',
			key: (one) =>
				one.field_base64 ?? one.field ?? one.member_base64 ?? one.member ?? String(one.index),
			empty: 'It has no elements on this page.',
			columns: ELEMENTS,
		},
		(cursor) =>
			page.ask(
				'GET',
				`${at}/elements?${new URLSearchParams({
					limit: ROWS,
					...(match && { match: containing(match) }),
					...(cursor && { cursor }),
				})}`,
			),
		() => page.refresh(),
	);
	inside.append(el('h2', {}, 'Elements'), search, elements.node, hint);
	page.root.append(back('keys', 'All keys'), ...(page.write ? [bar.node] : []), about.node, inside);
	return async () => {
		const state = await page.one(at, { what: 'key', name: key, list: 'keys' });
		if (!state) return;
		about.show([
			['Type', state.type],
			['Size', state.size === null ? '–' : number(state.size)],
			['Lives', lives(state)],
		]);
		inside.hidden = !['hash', 'list', 'set', 'zset'].includes(state.type);
		if (inside.hidden) return;
		const found = await elements.look();
		setText(hint, literal(match).trim());
		hint.hidden = literal(match) === '' || (found ?? []).length > 0;
	};
}

async function setTtl(page, at, key) {
	const said = await askUser({
		title: `Time to live of '${key}'`,
		go: 'Set',
		text: 'Redis removes the key after this time. Without a time it is kept for ever.',
		fields: [
			durationField({
				name: 'duration',
				label: 'From now',
				min: 1,
				max: 3155760000000,
				required: false,
			}),
		],
	});
	if (!said) return;
	const ttl = said.duration.trim() === '' ? null : parseDuration(said.duration);
	await page.act(
		'PUT',
		`${at}/ttl`,
		{ ttl_ms: ttl },
		() => `'${key}' lives ${ttl === null ? 'for ever' : `for ${exactDuration(ttl)}`}.`,
	);
}
