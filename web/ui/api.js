// The daemon's API: how to ask it, what it says when it refuses, and whether it answers at all.
import { askForToken } from './dialog.js';

const TOKEN = 'patternd-token';
const PATIENCE_MS = 15000;
const LONGEST_PAUSE_MS = 15000;

/** What the daemon refused, in its own words (problem+json). */
export class Problem extends Error {
	constructor(said) {
		super(said.detail ?? said.title);
		this.said = said;
	}
}

/** Nobody answered. The banner tells it, so that nobody else has to. */
export class Gone extends Error {}

/** Says "lost" and "found" when they become true. */
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
function newToken(refused) {
	if (sessionStorage.getItem(TOKEN) !== refused) return Promise.resolve(true);
	if (declined) return Promise.resolve(false);
	asked ??= askForToken()
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

/** Somebody does something: a token may be asked for again. */
export function acts() {
	declined = false;
}

/** `until` makes the signal of each try: how long somebody looks for a token does not count. */
async function send(method, path, body, until) {
	for (;;) {
		const token = sessionStorage.getItem(TOKEN);
		const headers = { Accept: 'application/json' };
		if (token) headers.Authorization = `Bearer ${token}`;
		if (body !== undefined) headers['Content-Type'] = 'application/json';
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

/** The answer's JSON; null when it has none. Throws a Problem or Gone. */
export async function ask(method, path, body, signal) {
	const response = await send(method, path, body, () => {
		const patience = AbortSignal.timeout(PATIENCE_MS);
		return signal ? AbortSignal.any([signal, patience]) : patience;
	});
	if (!response.ok) throw await problemOf(response);
	if (response.status === 204) return null;
	try {
		return await response.json();
	} catch (error) {
		throw new Gone(error.message);
	}
}

/** A path of the API from its parts, each of which may be anything. */
export function path(...parts) {
	return '/' + parts.map(encodeURIComponent).join('/');
}

/**
 * The items of a list that goes on by cursor. It is a SCAN: pages may be short and repeat, so what
 * is known is kept by its name; after `pages` of them, or `most` items, it is enough. `more` tells
 * that there are more.
 */
export async function list(where, { match, name, pages = 8, most = 500, signal }) {
	const items = new Map();
	let cursor = null;
	do {
		const params = new URLSearchParams({ limit: 200 });
		if (match) params.set('match', match.includes('*') ? match : `*${match}*`);
		if (cursor) params.set('cursor', cursor);
		const page = await ask('GET', `${where}?${params}`, undefined, signal);
		for (const item of page.items) items.set(name(item), item);
		cursor = page.next_cursor;
	} while (cursor && --pages > 0 && items.size < most);
	const sorted = [...items].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
	return { items: sorted, more: cursor !== null };
}
