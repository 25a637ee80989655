// The daemon's API: requests, problems, and whether the daemon answers at all.
import { askForToken } from './dialog.js';
import { learnClock } from './now.js';

const TOKEN = 'patternd-token';
const PATIENCE_MS = 15000;
const LONGEST_PAUSE_MS = 15000;

/** A request that the daemon refused, with the members of its problem+json. */
export class Problem extends Error {
	constructor(said) {
		super(said.detail ?? said.title);
		this.said = said;
	}
}

/** The daemon did not answer. The banner shows it, so that views need not. */
export class Gone extends Error {}

/** Dispatches "lost" and "found" when they become true. */
export const daemon = Object.assign(new EventTarget(), { answers: true });

function found() {
	if (!daemon.answers) {
		daemon.answers = true;
		daemon.dispatchEvent(new Event('found'));
	}
}

function lost() {
	if (daemon.answers) {
		daemon.answers = false;
		daemon.dispatchEvent(new Event('lost'));
		setTimeout(tryAgain, 1000, 1000);
	}
}

/** Where a path of the API is: beside this page, which may be below a prefix of a reverse proxy. */
const at = (path) => `.${path}`;

async function tryAgain(pause) {
	try {
		await fetch(at('/healthz'), { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) });
		found();
	} catch {
		const next = Math.min(2 * pause, LONGEST_PAUSE_MS);
		setTimeout(tryAgain, next, next);
	}
}

let asked = null;
let declined = false;

/**
 * Asks for a token once, however many requests were refused for want of it, and not again after a
 * Cancel.
 */
function newToken(refused, isUnknown = refused !== null) {
	if (sessionStorage.getItem(TOKEN) !== refused) return Promise.resolve(true);
	if (declined) return Promise.resolve(false);
	asked ??= askForToken(isUnknown)
		.then((token) => {
			if (token) sessionStorage.setItem(TOKEN, token);
			declined = !token;
			return Boolean(token);
		})
		.finally(() => {
			asked = null;
		});
	return asked;
}

/** Asks for another token than the one in use; true when one was entered. */
export function changeToken() {
	declined = false;
	return newToken(sessionStorage.getItem(TOKEN), false);
}

/** The user does something: a token may be asked for again. */
export function acts() {
	declined = false;
}

/** `until` makes the signal of each try: the time to enter a token does not count. */
async function send(method, path, body, until, accept = 'application/json') {
	for (;;) {
		const token = sessionStorage.getItem(TOKEN);
		const headers = { Accept: accept };
		if (token) headers.Authorization = `Bearer ${token}`;
		if (body !== undefined) headers['Content-Type'] = 'application/json';
		const sent = Date.now();
		let response;
		try {
			response = await fetch(at(path), {
				method,
				headers,
				signal: until(),
				cache: 'no-store',
				body: body && JSON.stringify(body),
			});
		} catch (error) {
			if (error.name !== 'AbortError') lost();
			throw new Gone(error.message);
		}
		found();
		learnClock(response.headers.get('Date'), sent, Date.now());
		if (response.status !== 401 || !(await newToken(token))) return response;
	}
}

async function problemOf(response) {
	try {
		return new Problem(await response.json());
	} catch {
		return new Problem({ detail: `the answer was ${response.status} without an explanation` });
	}
}

// An integer beyond what a JavaScript number holds keeps its digits: it is data of a client.
function exact(_, value, context) {
	const isLost = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
	return isLost && context && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
}

/** The answer's JSON; null when it has none. Throws a Problem or Gone. */
export async function ask(method, path, body, signal) {
	const response = await send(method, path, body, () => {
		const patience = AbortSignal.timeout(PATIENCE_MS);
		return signal ? AbortSignal.any([signal, patience]) : patience;
	});
	if (!response.ok) throw await problemOf(response);
	if (response.status === 204) return null;
	try {
		return JSON.parse(await response.text(), exact);
	} catch (error) {
		throw new Gone(error.message);
	}
}

/**
 * The server-sent events of a path, each as received(event, data), until the daemon ends them.
 * Throws a Problem or Gone.
 */
export async function listen(where, signal, received) {
	const response = await send('GET', where, undefined, () => signal, 'text/event-stream');
	if (!response.ok) throw await problemOf(response);
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let text = '';
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const events = (text + value).split('\n\n');
		text = events.pop();
		for (const one of events) emit(one, received);
	}
}

/** One event: its lines "event: name" and "data: text"; a comment has neither. */
function emit(lines, received) {
	let name = 'message';
	const data = [];
	for (const line of lines.split('\n')) {
		if (line.startsWith('event:')) name = line.slice(6).trim();
		if (line.startsWith('data:')) data.push(line.slice(5));
	}
	if (data.length || name !== 'message') {
		received(name, data.length ? JSON.parse(data.join('\n') || 'null') : null);
	}
}

/** A path of the API from its parts, each of which may be anything. */
export function path(...parts) {
	return '/' + parts.map(encodeURIComponent).join('/');
}

/** Whether a list does not exist: locks of --lock-quorum have none. */
export const hasNoList = ({ said }) => said?.code === 'unsupported_with_quorum';

/** Whether requests carry a token. */
export function hasToken() {
	return sessionStorage.getItem(TOKEN) !== null;
}

/**
 * The items of a list that continues by cursor, from `cursor` on. It may be a SCAN: pages may be
 * short and repeat, so what is known is kept by its name; after `pages` of them, or `most` items,
 * it is enough. `more`: there are more, and `next` is the cursor of those. `unreadable`: how many
 * names the pages left out, since their keys cannot be read. `unreadSlots`: how many slots of a
 * Cluster they left out.
 */
export async function list(where, options) {
	const { match, name, pages = 8, most = 500, signal, cursor = null, query = {}, keep = () => true } = options;
	const items = new Map();
	let next = cursor;
	let left = pages;
	let unreadable = 0;
	let unreadSlots = 0;
	do {
		const params = new URLSearchParams({ limit: Math.min(most, 500), ...query });
		if (match) params.set('match', match);
		if (next) params.set('cursor', next);
		const page = await ask('GET', `${where}?${params}`, undefined, signal);
		for (const item of page.items) if (keep(item)) items.set(name(item), item);
		next = page.next_cursor;
		unreadable += page.unreadable ?? 0;
		unreadSlots += page.unread_slots ?? 0;
	} while (next && --left > 0 && items.size < most);
	const sorted = [...items].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
	return { items: sorted, more: next !== null, next, unreadable, unreadSlots };
}

/**
 * Whether the list of a kind has this very name. A `match` takes two stars at most, so
 * further stars of a name are left to the comparison.
 */
export async function isListed(where, name, signal) {
	const [first, second, ...rest] = name.split('*');
	const match = [first, ...(second === undefined ? [] : [second]), ...(rest.length ? [''] : [])].join('*');
	const found = await list(where, { match, name: (one) => one.name, pages: 20, signal });
	return found.items.some((one) => one.name === name);
}

/** Names that contain a text, which may contain stars. */
export const containing = (text) => (text === '' || text.includes('*') ? text : `*${text}*`);
