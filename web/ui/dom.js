// Elements that are kept while what they show changes. Whatever the API returns becomes text nodes
// here, never markup.
import { instant, utc } from './format.js';

/**
 * An element. Properties that begin with "on" are listeners, the others attributes; null and false
 * leave one out.
 */
export function el(tag, properties = {}, ...children) {
	return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
	return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), properties, children);
}

function fill(node, properties, children) {
	for (const [name, value] of Object.entries(properties)) {
		if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			node.setAttribute(name, value === true ? '' : value);
	}
	node.append(...children.filter((child) => child !== null));
	return node;
}

// Where a line may end within a long name or address: after what parts its words.
const JOINT = /(?<=[/:_;=&?@|]|,(?=\D)|\.(?=[A-Za-z]))(?=[\w"'([{<])/;
const LONG = /\S{14}/;
const OPTION = /(?<=^| )(--[a-z]+)/; // of a command

/** Changes a text only when it differs, so that a selection in it lives on. */
export function setText(node, text) {
	const string = String(text);
	if (node.textContent !== string) node.replaceChildren(...breakable(string));
}

/** The text, which may break where its words are joined. */
export function breakable(text) {
	if (OPTION.test(text))
		return text.split(OPTION).flatMap((part, at) => (at % 2 ? [whole(part)] : breakable(part)));
	if (!LONG.test(text)) return [text];
	return text.split(JOINT).flatMap((part, at) => (at ? [el('wbr'), part] : [part]));
}

/** A text that no line ends within. */
export const whole = (text) => el('span', { class: 'whole' }, text);

/** A text with code between backticks. */
export const withCode = (text) => text.split('`').map((part, at) => (at % 2 ? el('code', {}, part) : part));

/**
 * A point in time that shows its UTC when the mouse rests on it. words(ms) is what is
 * shown: the time in the browser's zone, or for instance how long it is until then; `none` is
 * shown for null.
 */
export function moment(words = instant, none = '–') {
	const node = el('time');
	return {
		node,
		update(ms) {
			const isKnown = ms !== null && ms !== undefined;
			setText(node, isKnown ? words(ms) : none);
			if (isKnown) {
				const whole = words === instant ? [utc(ms)] : [instant(ms), utc(ms)];
				node.title = [...new Set(whole)].join(', ');
				node.dateTime = new Date(ms).toISOString();
			} else {
				node.removeAttribute('title');
				node.removeAttribute('datetime');
			}
		},
	};
}

/** Where a view is, as a link. */
export function route(...parts) {
	return '#/' + parts.map(encodeURIComponent).join('/');
}

/**
 * Makes `parent` have the children of `items`. A child lives as long as its key, and with it
 * the focus. make(item) answers {node, update(item)}.
 */
export function keyed(parent, items, key, make) {
	const before = parent.children_by_key ?? new Map();
	const now = new Map();
	for (const item of items) {
		const name = key(item);
		const child = now.get(name) ?? before.get(name) ?? make(item);
		child.update(item);
		now.set(name, child);
	}
	for (const [name, child] of before) if (!now.has(name)) child.node.remove();
	let at = parent.firstChild;
	for (const { node } of now.values()) {
		if (node === at) at = at.nextSibling;
		else parent.insertBefore(node, at);
	}
	parent.children_by_key = now;
}

/**
 * Buttons of a row: {label, about(item), when(item), act(item)}. Screen readers read `label about`.
 */
export function buttons(...those) {
	return (current) => {
		const made = those.map(({ label, about, when = () => true, act, danger }) => {
			const node = el(
				'button',
				{
					type: 'button',
					class: danger ? 'quiet danger' : 'quiet',
					onclick: () => act(current()),
				},
				label,
			);
			return {
				node,
				update: (item) => {
					node.hidden = !when(item);
					node.setAttribute('aria-label', `${label} ${about(item)}`);
				},
			};
		});
		return {
			node: el('div', { class: 'buttons' }, ...made.map(({ node }) => node)),
			update: (item) => made.forEach(({ update }) => update(item)),
		};
	};
}

const WIDE = 60; // characters of a text that takes the whole width

/**
 * Names with their values. show([[name, value], ...]); a value that is {at, words, none} is a point
 * in time, {link, text} a link.
 */
export function facts(label) {
	const node = el('dl', { class: 'facts', 'aria-label': label });
	return {
		node,
		show(pairs) {
			keyed(
				node,
				pairs,
				([name]) => name,
				([name]) => {
					const value = el('dd');
					const node = el('div', {}, el('dt', {}, name), value);
					const show = valueOf(value);
					return {
						node,
						update(row) {
							show(row);
							const [, shown] = row;
							const isLong = typeof shown === 'string' && shown.length > WIDE;
							node.classList.toggle('long', isLong);
						},
					};
				},
			);
		},
	};
}

/** Shows a value of a fact in an element. */
function valueOf(node) {
	let made = null; // what shows a point in time or a link
	return ([, value]) => {
		if (value === null || typeof value !== 'object') {
			made = null;
			setText(node, value);
			return;
		}
		if (!made) {
			made = 'at' in value ? moment(value.words, value.none) : link();
			node.replaceChildren(made.node);
		}
		made.update('at' in value ? value.at : value);
	};
}

function link() {
	const node = el('a');
	return {
		node,
		update({ text, link: to }) {
			setText(node, text);
			node.setAttribute('href', to);
		},
	};
}

/** Words, which may have nodes among them, and the request that makes them untrue. */
export function nothing(words, sample) {
	return el('div', { class: 'card nothing' }, el('p', {}, ...[words].flat()), ...(sample ? [sample] : []));
}

/** The way back from one thing to where it belongs: the parts of that route, or its only one. */
export function back(to, words) {
	return el('a', { class: 'back', href: route(...[to].flat()) }, words);
}
