// The page around the views: where we are, whose turn it is to be asked, and what is said when
// something fails.
import { acts, ask, daemon, Gone, Problem } from './api.js';
import { el, setText } from './dom.js';
import * as boards from './boards.js';
import * as geo from './geo.js';
import * as limits from './limits.js';
import * as locks from './locks.js';
import * as overview from './overview.js';
import * as queues from './queues.js';
import * as sales from './sales.js';
import * as visitors from './visitors.js';

const REFRESH_MS = 2000;
// A list that takes long is asked for less often: this part of the time at most.
const SHARE = 10;
const UNKNOWN =
	'The daemon did not answer, so nobody knows whether this was done. See what is there before you do it again.';

// The first part of the hash names the view; each has open(page), which answers how to refresh it,
// and may tell which of the other parts is the name of what is shown (`named`).
const VIEWS = new Map([
	['', { title: 'Overview', ...overview }],
	['queues', { title: 'Queues', ...queues }],
	['locks', { title: 'Locks', ...locks }],
	['limits', { title: 'Limits', ...limits }],
	['geo', { title: 'Geo', ...geo }],
	['visitors', { title: 'Visitors', ...visitors }],
	['leaderboards', { title: 'Leaderboards', ...boards }],
	['sales', { title: 'Sales', ...sales }],
]);

const by = (id) => document.getElementById(id);
let info = null;
let current = null;

/**
 * What a view gets: where to draw, the names of the route, whether it may change things, and how to
 * ask.
 */
class Page {
	constructor(names) {
		this.names = names;
		this.root = el('div', { class: 'stack' });
		this.leaving = new AbortController();
		this.signal = this.leaving.signal;
		this.info = info;
		this.write = info.options.ui === 'write';
		this.timer = null;
		this.every_ms = REFRESH_MS;
		this.busy = false;
	}

	ask(method, path, body) {
		return ask(method, path, body, this.signal);
	}

	/** Does something that changes, says what came of it, and looks anew. */
	async act(method, path, body, tell) {
		acts();
		try {
			// Not ended by leaving the view: it happens or not, but is not cut off.
			const answer = await ask(method, path, body);
			say(tell(answer));
			showProblem(null);
		} catch (error) {
			showProblem(error instanceof Gone ? new Problem({ detail: UNKNOWN }) : error);
		}
		await this.refresh();
	}

	/** Tells what went wrong outside of act. */
	fail(error) {
		showProblem(error);
	}

	/** Looks now, and then each `every_ms` while the page is visible. */
	async refresh() {
		clearTimeout(this.timer);
		if (this.busy || this.signal.aborted || document.hidden || !daemon.answers) return;
		this.busy = true;
		const began = performance.now();
		try {
			await this.look?.();
			if (!this.signal.aborted) showProblem(null, 'look');
		} catch (error) {
			if (!this.signal.aborted) showProblem(error, 'look');
		}
		this.busy = false;
		if (!this.signal.aborted)
			this.timer = setTimeout(
				() => this.refresh(),
				Math.max(this.every_ms, SHARE * (performance.now() - began)),
			);
	}

	close() {
		clearTimeout(this.timer);
		this.leaving.abort();
	}
}

/** Says politely what was done. */
function say(text) {
	setText(by('said'), text);
	clearTimeout(say.timer);
	say.timer = setTimeout(() => setText(by('said'), ''), 8000);
}

/**
 * A problem in words. What a look failed of goes when the next look succeeds, and is not told
 * twice; what an action failed of stays until the next action.
 */
function showProblem(error, of = 'act') {
	const box = by('problem');
	if (error instanceof Gone) return;
	if (!error) {
		if (of === 'act' || box.dataset.of === 'look') box.hidden = true;
		return;
	}
	if (!box.hidden && of === 'look' && box.dataset.of === 'act') return;
	if (!(error instanceof Problem)) console.error(error);
	const { detail, title, status, code, request_id: id, errors = [] } = error.said ?? { detail: error.message };
	const same = !box.hidden && box.dataset.detail === (detail ?? title);
	const where = [code, id && `request ${id}`].filter(Boolean).join(' · ');
	if (same) {
		setText(box.querySelector('small'), where);
		return;
	}
	box.dataset.of = of;
	box.dataset.detail = detail ?? title;
	box.replaceChildren(
		el('p', {}, detail ?? title),
		...(errors.length > 1
			? [el('ul', {}, ...errors.map((one) => el('li', {}, `${one.pointer} ${one.detail}`)))]
			: []),
		...(status === 401 ? [el('button', { type: 'button', onclick: enterToken }, 'Enter a token')] : []),
		el('small', {}, where),
	);
	box.hidden = false;
}

function enterToken() {
	by('problem').hidden = true;
	acts();
	begin();
}

function namesOf(hash) {
	try {
		return hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
	} catch {
		return [''];
	}
}

function navigate() {
	if (location.hash === '#main') {
		by('main').focus();
		return;
	}
	const [first, ...names] = namesOf(location.hash);
	const view = VIEWS.get(first) ?? VIEWS.get('');
	const moved = current !== null;
	current?.close();
	by('problem').hidden = true;
	current = new Page(names.filter((name) => name !== ''));
	for (const link of by('nav').children) {
		if (link.dataset.view === first) link.setAttribute('aria-current', 'page');
		else link.removeAttribute('aria-current');
	}
	setText(by('title'), current.names[view.named ?? 0] ?? view.title);
	document.title = `${by('title').textContent} · patternd`;
	by('view').replaceChildren(current.root);
	current.look = view.open(current);
	if (moved) {
		scrollTo(0, 0);
		by('title').focus();
	}
	current.refresh();
}

async function learn() {
	info = await ask('GET', '/info');
	setText(by('version'), info.version);
	by('mode').hidden = info.options.ui === 'write';
	setText(by('mode'), 'read only');
}

async function start() {
	for (const [name, { title }] of VIEWS)
		by('nav').append(el('a', { href: name ? `#/${name}` : '#/', 'data-view': name }, title));
	daemon.addEventListener('lost', () => {
		by('banner').hidden = false;
	});
	daemon.addEventListener('found', async () => {
		by('banner').hidden = true;
		await begin();
	});
	document.addEventListener('visibilitychange', () => current?.refresh());
	addEventListener('hashchange', () => info && navigate());
	await begin();
}

/**
 * The first time all is new; after the daemon came back it may be another one, which the view need
 * not notice.
 */
async function begin() {
	try {
		const known = info;
		await learn();
		if (known && known.options.ui === info.options.ui) current.refresh();
		else navigate();
	} catch (error) {
		showProblem(error, 'look');
	}
}

start();
