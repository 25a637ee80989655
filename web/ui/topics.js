// Topics: which have listeners, and what is published on one, live.
import { acts, Gone, listen, path } from './api.js';
import { field } from './dialog.js';
import { back, el, facts, route, setText } from './dom.js';
import { number } from './format.js';
import { listing } from './listing.js';
import { sample } from './sample.js';
import { table } from './table.js';

const MOST = 200; // messages kept
const PAUSE_MS = 2000;

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	const all = table({
		label: 'Topics',
		key: (one) => one.name,
		turn: (by) => look.turn(by),
		columns: [
			{
				title: 'Topic',
				kind: 'head',
				text: (one) => one.name,
				sort: (one) => one.name,
				link: (one) => route('topics', one.name),
			},
			{
				title: 'Daemons that listen',
				number: true,
				text: (one) => number(one.daemons),
				sort: (one) => one.daemons,
			},
		],
	});
	const look = listing(page, {
		what: 'topics',
		where: '/topics',
		name: (one) => one.name,
		open: (name) => route('topics', name),
		shown: all,
		none:
			'No client listens to a topic. A topic needs no creation: open one by its name to listen, or all of a ' +
			'prefix by news.*',
		make: ['GET', path('topics', 'example', 'stream')],
	});
	return look;
}

function openOne(page, name) {
	const at = path('topics', name);
	const isPattern = name.endsWith('*');
	const from = isPattern ? `/topics/stream?name=${encodeURIComponent(name)}` : `${at}/stream`;
	const about = facts(isPattern ? 'Topics' : 'Topic');
	const state = el('p', { class: 'muted', role: 'status' });
	const tail = new Tail(page, from, (words) => setText(state, words));
	const messages = table({
		label: 'Messages',
		key: (one) => String(one.count),
		empty: 'Nothing was published since this page was opened.',
		columns: [
			{ title: 'Published', kind: 'when', time: (one) => one.published_at_ms },
			...(isPattern ? [{ title: 'Topic', text: (one) => one.topic }] : []),
			{ title: 'Body', kind: 'wide code', text: (one) => JSON.stringify(one.body) },
		],
	});
	const toggle = el('button', { type: 'button', onclick: () => tail.toggle() }, 'Stop');
	const clear = el('button', { type: 'button', onclick: () => tail.clear() }, 'Clear');
	tail.changed = () => {
		setText(toggle, tail.isRunning ? 'Stop' : 'Listen');
		messages.show(tail.messages);
	};
	page.root.append(
		back('topics', 'All topics'),
		about.node,
		...(page.write && !isPattern ? [publisher(page, at)] : []),
		el('div', { class: 'buttons' }, toggle, clear, state),
		messages.node,
		...(page.write || isPattern ? [] : [sample('POST', at, { body: { any: 'JSON' } })]),
	);
	tail.start();
	return async () => {
		if (isPattern) return about.show([['All that begin with', name.slice(0, -1)]]);
		const topic = await page.ask('GET', at);
		about.show([['Daemons that listen', number(topic.daemons)]]);
	};
}

/** What arrives on a stream, the latest first; it listens again after a stream has ended. */
class Tail {
	constructor(page, where, report) {
		Object.assign(this, { page, where, report, messages: [], count: 0, isRunning: false });
		page.signal.addEventListener('abort', () => this.stop());
	}

	async start() {
		this.isRunning = true;
		this.ending = new AbortController();
		const { signal } = this.ending;
		this.changed();
		while (!signal.aborted) {
			try {
				this.report('Connecting');
				await listen(this.where, signal, (event, data) => this.take(event, data));
			} catch (error) {
				if (signal.aborted) return;
				if (!(error instanceof Gone) && error.name !== 'TypeError') {
					this.stop();
					this.page.fail(error);
					return;
				}
			}
			this.report('The stream has ended; connecting again');
			await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
		}
	}

	take(event, data) {
		if (event === 'listening') this.report('Listening');
		if (event === 'gap') this.report('Messages before this moment may be missing');
		if (event !== 'message') return;
		this.messages = [{ ...data, count: this.count++ }, ...this.messages].slice(0, MOST);
		this.changed();
	}

	stop() {
		this.isRunning = false;
		this.ending?.abort();
		this.report('Stopped');
		this.changed();
	}

	toggle() {
		acts();
		if (this.isRunning) this.stop();
		else this.start();
	}

	clear() {
		this.messages = [];
		this.changed();
	}
}

/** What is wrong with a text that must be JSON; undefined when nothing is. */
export function notJson(text) {
	try {
		JSON.parse(text);
		return undefined;
	} catch {
		return 'This is not JSON: a text needs double quotes, like "hello".';
	}
}

function publisher(page, at) {
	const form = el(
		'form',
		{ class: 'row card' },
		field({
			label: 'Message, as JSON',
			name: 'body',
			value: '{"hello":"world"}',
			required: true,
			check: notJson,
		}),
		el('button', { type: 'submit', class: 'primary' }, 'Publish'),
	);
	form.firstChild.classList.add('broad');
	form.onsubmit = (event) => {
		event.preventDefault();
		page.act('POST', at, { body: JSON.parse(form.elements.body.value) }, () => 'Published.');
	};
	return form;
}
