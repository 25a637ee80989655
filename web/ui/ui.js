// The page around the views: which one is shown, when it is refreshed, and what is reported when
// something fails.
import { openAccess } from './access.js';
import { acts, ask, changeToken, daemon, Gone, hasToken, Problem } from './api.js';
import { back, el, moment, nothing, setText, withCode } from './dom.js';
import { clockOrInstant } from './format.js';
import { learnRedis, now } from './now.js';
import { sample } from './sample.js';
import * as boards from './boards.js';
import * as findings from './findings.js';
import { finder, isTyped } from './finder.js';
import * as geo from './geo.js';
import * as keys from './keys.js';
import { KINDS } from './kinds.js';
import * as limits from './limits.js';
import * as locks from './locks.js';
import * as overview from './overview.js';
import * as push from './push.js';
import * as queues from './queues.js';
import * as recurring from './recurring.js';
import * as sales from './sales.js';
import { viewOf } from './simple.js';
import * as topics from './topics.js';
import * as visitors from './visitors.js';

const REFRESH_MS = 2000;
const STALE_MS = 10_000; // since a look, after which a page that was hidden is marked until it has looked
// A list that takes long is asked for less often: this part of the time at most.
const SHARE = 10;
const UNKNOWN =
	'The daemon did not answer, so it is unknown whether this was done. Look at the state before you do it again.';

const READS =
	'The daemon runs with `--ui=read`, the default, so this page only looks. To act here, restart the daemon with ' +
	'`--ui=write`. Or act by curl: each action is one request. The page of a queue has the commands to pause, redrive ' +
	'and purge it; the API page has all others.';

const simple = (name) => [name, { title: KINDS[name].title, ...viewOf(KINDS[name]) }];

// The first part of the hash names the view; each has open(page), which answers how to refresh it,
// and may choose which of the other parts is the name of what is shown (`named`). Kinds without a
// special picture or actions share one view (simple.js).
const GROUPS = [
	['', [['', { title: 'Overview', ...overview }]]],
	['Coordination', [['locks', { title: 'Locks', ...locks }], simple('semaphores'), simple('fences')]],
	[
		'Messages',
		[
			['queues', { title: 'Queues', ...queues }],
			['schedules', { title: 'Schedules', ...recurring }],
			['push', { title: 'Push', ...push }],
			['topics', { title: 'Topics', ...topics }],
		],
	],
	[
		'Traffic',
		[
			['limits', { title: 'Rate limits', ...limits }],
			['sales', { title: 'Sales', ...sales }],
		],
	],
	[
		'Counting',
		[
			simple('counters'),
			['visitors', { title: 'Visitors', ...visitors }],
			['leaderboards', { title: 'Leaderboards', ...boards }],
			simple('checkins'),
			simple('bloom'),
			simple('bitmaps'),
		],
	],
	['Data', [simple('cache'), simple('feeds'), simple('sets'), ['geo', { title: 'Geo', ...geo }]]],
	['Redis', [['keys', { title: 'Keys', ...keys }]]],
];
const VIEWS = new Map(GROUPS.flatMap(([, views]) => views));
const TITLES = [...VIEWS].map(([view, { title }]) => [view, title]);
VIEWS.set('findings', { title: 'Findings', ...findings }); // not in the menu: the overview leads to it
// What is known of the daemon with a token that lacks info:read.
const HIDDEN = { version: '', options: {} };

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
		this.root = el('div', { class: 'stack', hidden: true }); // until a look succeeded
		this.absent = el('div', { class: 'stack', hidden: true });
		this.leaving = new AbortController();
		this.signal = this.leaving.signal;
		this.info = info;
		this.write = info.options.ui === 'write';
		this.timer = null;
		this.every_ms = REFRESH_MS;
		this.share = SHARE;
		this.busy = false;
		this.lacking = null; // why a part of the latest look is not known
		this.seen_at_ms = null; // when a look last succeeded
	}

	ask(method, path, body) {
		return ask(method, path, body, this.signal);
	}

	/**
	 * The state of the one thing that this page shows, or null: then the page shows that it
	 * does not exist, and offers nothing but how to make it. {what, name, list, exists, make}
	 */
	async one(at, { what, name, list, exists = () => true, make }) {
		let state = null;
		try {
			state = await this.ask('GET', at);
		} catch (error) {
			if (error.said?.status !== 404) throw error;
		}
		if (state && (await exists(state))) return this.shows(state);
		this.absent.replaceChildren(
			back(list, 'Back to the list'),
			nothing(`There is no ${what} '${name}'.`, make && sample(...make)),
		);
		return this.shows(null);
	}

	shows(state) {
		this.isAbsent = state === null;
		this.absent.hidden = !this.isAbsent;
		return state;
	}

	/**
	 * Does something that changes, reports what came of it, and looks again. explain(error, or
	 * null) of a dialog returns whether it is shown there.
	 */
	async act(method, path, body, tell, explain = () => false) {
		acts();
		let failed = null;
		try {
			// Not ended by leaving the view: it happens or not, but is not cut off.
			say(tell(await ask(method, path, body)));
		} catch (error) {
			failed = error instanceof Gone ? new Problem({ detail: UNKNOWN }) : error;
		}
		showProblem(explain(failed) ? null : failed);
		await this.refresh();
	}

	/**
	 * Sends several requests [{method, path, body}], four at a time; done(answers) in words.
	 */
	async actAll(requests, done) {
		acts();
		const left = [...requests];
		const answers = [];
		let failed = null;
		const work = async () => {
			for (let one = left.shift(); one && !failed; one = left.shift()) {
				try {
					answers.push(await ask(one.method, one.path, one.body));
				} catch (error) {
					// What another client has removed needs nothing more.
					if (error.said?.status !== 404) failed = error;
				}
			}
		};
		await Promise.all([work(), work(), work(), work()]);
		say(done(answers));
		showProblem(failed instanceof Gone ? new Problem({ detail: UNKNOWN }) : failed);
		await this.refresh();
	}

	/** The latest look continues without a part that failed with this error, which is shown. */
	lacks(error) {
		this.lacking = error;
	}

	/** Reports what went wrong outside of act. */
	fail(error) {
		showProblem(error);
	}

	/**
	 * Looks now, or right after the look that runs, and then each `every_ms` while the page is
	 * visible.
	 */
	async refresh() {
		clearTimeout(this.timer);
		this.again = this.busy;
		if (this.busy || !this.look || this.signal.aborted || document.hidden || !daemon.answers) return;
		this.busy = true;
		const began = performance.now();
		this.lacking = null;
		try {
			await this.look();
			if (!this.signal.aborted) {
				showProblem(this.lacking, 'look-problem');
				this.root.hidden = this.isAbsent === true;
				this.seen_at_ms = now();
				showStale(null);
			}
		} catch (error) {
			if (!this.signal.aborted) {
				showProblem(error, 'look-problem');
				showStale(this.seen_at_ms);
			}
		}
		this.busy = false;
		if (this.again) this.refresh();
		else if (!this.signal.aborted)
			this.timer = setTimeout(
				() => this.refresh(),
				Math.max(this.every_ms, this.share * (performance.now() - began)),
			);
	}

	close() {
		clearTimeout(this.timer);
		this.leaving.abort();
	}
}

/** Shows what was done; a screen reader reads it when it is idle. */
function say(text) {
	setText(by('said'), text);
	clearTimeout(say.timer);
	say.timer = setTimeout(() => setText(by('said'), ''), 8000);
}

const asOf = moment(clockOrInstant);

/** Marks what is shown as of an earlier time; null: it is of now, or nothing is shown. */
function showStale(since_ms) {
	const isStale = since_ms !== null;
	by('view').classList.toggle('stale', isStale);
	by('stale').hidden = !isStale;
	if (isStale) asOf.update(since_ms);
}

/**
 * Shows a problem in words, or hides it if `error` is null. The problem of an action is in the box
 * 'problem', and stays until the next action. The problem of a look is in the box 'look-problem',
 * and disappears when the next look succeeds. A problem that is shown already is not drawn again.
 */
function showProblem(error, which = 'problem') {
	const box = by(which);
	if (error instanceof Gone) return;
	if (!error) {
		box.hidden = true;
		return;
	}
	if (!(error instanceof Problem)) console.error(error);
	const { detail, title, status, code, request_id: id, errors = [] } = error.said ?? { detail: error.message };
	const same = !box.hidden && box.dataset.detail === (detail ?? title);
	const where = [code, id && `request ${id}`].filter(Boolean).join(' · ');
	if (same) {
		setText(box.querySelector('small'), where);
		return;
	}
	box.dataset.detail = detail ?? title;
	box.replaceChildren(
		el('p', {}, detail ?? title),
		...(errors.length > 1
			? [el('ul', {}, ...errors.map((one) => el('li', {}, `${one.pointer} ${one.detail}`)))]
			: []),
		...(status === 401 ? [el('button', { type: 'button', onclick: enterToken }, 'Enter a token')] : []),
		...(code === 'forbidden'
			? [el('button', { type: 'button', onclick: enterAnother }, 'Enter another token')]
			: []),
		el('small', {}, where),
		...(code ? [explanation(code)] : []),
	);
	box.hidden = false;
}

/** What the daemon explains of a code, asked for when it is opened. */
function explanation(code) {
	const text = el('p', {}, 'Asking the daemon.');
	const node = el('details', {}, el('summary', {}, 'What to do'), text);
	node.addEventListener('toggle', async () => {
		if (!node.open) return;
		try {
			text.replaceChildren(...withCode((await ask('GET', `/problems/${encodeURIComponent(code)}`)).help));
		} catch (error) {
			setText(text, error.message);
		}
	});
	return node;
}

function hideProblems() {
	showProblem(null);
	showProblem(null, 'look-problem');
}

function enterToken() {
	hideProblems();
	acts();
	begin();
}

/** Also when the token lacks a scope, which the problem names. Cancel keeps the token. */
async function enterAnother() {
	if (!(await changeToken())) return;
	hideProblems();
	info = null; // what was shown is what the former token could see
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
	openMenu(false);
	const view = VIEWS.get(first) ?? VIEWS.get('');
	const moved = current !== null;
	current?.close();
	hideProblems();
	showStale(null);
	current = new Page(names.filter((name) => name !== ''));
	for (const link of by('nav').querySelectorAll('a')) {
		if (link.dataset.view === first) link.setAttribute('aria-current', 'page');
		else link.removeAttribute('aria-current');
	}
	setText(by('title'), (view.named?.(current.names) ?? current.names[0]) || view.title);
	document.title = `${by('title').textContent} · patternd`;
	by('view').replaceChildren(current.root, current.absent);
	current.look = info === HIDDEN && first === '' ? openAccess(current, TITLES.slice(1)) : view.open(current);
	if (moved) {
		scrollTo(0, 0);
		by('title').focus();
	}
	current.refresh();
}

async function learn() {
	let lacks = '';
	try {
		info = await ask('GET', '/info');
	} catch (error) {
		if (error.said?.code !== 'forbidden') throw error;
		info = HIDDEN;
		lacks = error.said.detail;
	}
	learnRedis(info.redis?.nodes ?? []);
	setText(by('version'), info.version);
	by('mode').hidden = info.options.ui === 'write';
	by('notice').hidden = lacks === '';
	setText(by('lacks'), `${lacks}. So whether this page may change things is not known, and it offers no change.`);
	by('mode-words').replaceChildren(...withCode(lacks ? by('lacks').textContent : READS));
	by('token').hidden = !hasToken();
}

/** On a phone the link to the API page is in the menu, too. */
const reference = () => el('a', { class: 'narrow-only', href: 'docs' }, 'API page');

function fillNav() {
	for (const [group, views] of GROUPS)
		by('nav').append(
			el(
				'div',
				{ class: 'group', role: 'group', 'aria-label': group || 'Overview' },
				...(group ? [el('span', { class: 'group-name', 'aria-hidden': 'true' }, group)] : []),
				...views.map(([name, { title }]) =>
					el('a', { href: name ? `#/${name}` : '#/', 'data-view': name }, title),
				),
				...(group === 'Redis' ? [reference()] : []),
			),
		);
}

/** The words about the mode are shown while it is pointed at or has the focus. */
function explainMode() {
	const show = (isShown) => {
		by('mode-words').hidden = !isShown;
	};
	// Some browsers do not focus a button that is clicked.
	for (const event of ['mouseenter', 'focusin', 'click']) by('mode').addEventListener(event, () => show(true));
	for (const event of ['mouseleave', 'focusout']) by('mode').addEventListener(event, () => show(false));
	by('mode').addEventListener('keydown', ({ key }) => key === 'Escape' && show(false));
}

/** On a phone the views are behind a button. */
function openMenu(isOpen) {
	by('menu').setAttribute('aria-expanded', String(isOpen));
	by('nav').classList.toggle('open', isOpen);
}

async function start() {
	fillNav();
	by('as-of').append(asOf.node);
	explainMode();
	by('menu').onclick = () => openMenu(by('menu').getAttribute('aria-expanded') === 'false');
	const search = finder(TITLES);
	by('find').onclick = search.open;
	document.addEventListener('keydown', (event) => {
		if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyped(event)) return;
		event.preventDefault();
		search.open();
	});
	by('token').onclick = enterAnother;
	by('another').onclick = enterAnother;
	by('theme').value = theme.chosen();
	by('theme').onchange = () => {
		theme.choose(by('theme').value);
		if (info) navigate(); // plots are painted in the colours of the theme
	};
	daemon.addEventListener('lost', () => {
		by('banner').hidden = false;
		showStale(current?.seen_at_ms ?? null);
	});
	daemon.addEventListener('found', async () => {
		by('banner').hidden = true;
		await begin();
	});
	document.addEventListener('visibilitychange', () => {
		const seen_ms = current?.seen_at_ms ?? null; // a hidden page does not look
		if (!document.hidden && seen_ms !== null && now() - seen_ms > STALE_MS) showStale(seen_ms);
		current?.refresh();
	});
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
		showProblem(error, 'look-problem');
		current?.refresh();
	}
}

start();
