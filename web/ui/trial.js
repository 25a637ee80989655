// The trial of a limit: it draws how the bucket fills and drains.
import { ask, path, Problem } from './api.js';
import { durationField, field } from './dialog.js';
import { el, setText } from './dom.js';
import { number, parseDuration, rough } from './format.js';
import { plot } from './plot.js';

const OWN = 'own numbers';

/** What the form of the trial has. */
const FIELDS = [
	{ name: 'policy', label: 'Policy', options: [OWN] },
	{ name: 'algorithm', label: 'Algorithm', options: ['gcra', 'sliding window', 'fixed window'] },
	{ name: 'limit', label: 'Limit', type: 'number', min: 1, max: 1000000000, value: '10', required: true },
	durationField({ name: 'window', label: 'Window', ms: 5000, min: 1, max: 31622400000 }),
	{ name: 'burst', label: 'Burst', type: 'number', min: 1, max: 1000000000, value: '8', required: true },
	{ name: 'tries', label: 'Tries', type: 'number', min: 1, max: 500, value: '40', required: true },
	{
		name: 'rate',
		label: 'Tries / s',
		type: 'number',
		min: 0.1,
		max: 50,
		step: 0.1,
		value: '4',
		required: true,
	},
];

/** A limit is tried with its own key, which is deleted afterwards. */
export function tester(page) {
	let running = null;
	page.signal.addEventListener('abort', () => running?.abort());
	const drawing = plot({
		title: 'Level',
		signal: page.signal,
		time: false,
		text: rough,
		series: [
			{ label: 'level', colour: 'accent', fill: true },
			{ label: 'full at', colour: 'muted', dash: [4, 4] },
			{ label: 'allowed', colour: 'good', dots: true },
			{ label: 'refused', colour: 'delayed', dots: true },
		],
	});
	const start = el('button', { type: 'submit', class: 'primary' }, 'Try it');
	const form = el('form', { class: 'row card' }, ...FIELDS.map(field), start);
	const told = el(
		'p',
		{ class: 'muted', role: 'status' },
		'A trial uses a separate key, which is deleted afterwards.',
	);
	const input = (name) => form.elements[name];
	input('policy').onchange = () => {
		const own = input('policy').value === OWN;
		for (const name of ['algorithm', 'limit', 'window', 'burst']) input(name).disabled = !own;
	};
	form.onsubmit = async (event) => {
		event.preventDefault();
		if (running) {
			running.abort();
			return;
		}
		running = new AbortController();
		drawing.node.hidden = false;
		setText(start, 'Stop');
		try {
			setText(told, await tryOut(form, drawing, running.signal));
		} catch (error) {
			page.fail(error);
		}
		running = null;
		setText(start, 'Try it');
	};
	const known = new Set([OWN]);
	drawing.node.hidden = true;
	return {
		node: el(
			'section',
			{ class: 'stack', 'aria-labelledby': 'trial' },
			el('h2', { id: 'trial' }, 'Try a limit'),
			form,
			told,
			drawing.node,
		),
		offer(policies) {
			for (const { name } of policies)
				if (!known.has(name)) {
					known.add(name);
					input('policy').append(el('option', { value: name }, name));
				}
		},
	};
}

function demand(form) {
	const value = (name) => form.elements[name].value;
	const key = `ui-trial-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`;
	if (value('policy') !== OWN) return { key, policy: value('policy') };
	const algorithm = value('algorithm').replace(' ', '_');
	const numbers = { algorithm, limit: Number(value('limit')), window_ms: parseDuration(value('window')) };
	return algorithm === 'gcra' ? { key, ...numbers, burst: Number(value('burst')) } : { key, ...numbers };
}

const pause = (ms, signal) =>
	new Promise((resolve) => {
		const over = () => {
			clearTimeout(timer);
			signal.removeEventListener('abort', over);
			resolve();
		};
		const timer = setTimeout(over, ms);
		signal.addEventListener('abort', over);
	});

async function tryOut(form, drawing, signal) {
	const body = demand(form);
	const tries = Number(form.elements.tries.value);
	const every = 1000 / Number(form.elements.rate.value);
	const trial = new Trial();
	const began = performance.now();
	try {
		for (let done = 0; done < tries && !signal.aborted; done++) {
			await pause(began + done * every - performance.now(), signal);
			if (signal.aborted) break;
			const answer = await take(body);
			trial.add((performance.now() - began) / 1000, answer);
			drawing.show(trial.columns, trial.told());
		}
	} finally {
		const query = body.policy ? `?${new URLSearchParams({ policy: body.policy })}` : '';
		await ask('DELETE', `${path('ratelimit', 'keys', body.key)}${query}`).catch(() => {});
	}
	return `${number(trial.allowed)} allowed, ${number(trial.refused)} refused in ${rough((performance.now() - began) / 1000)} s.`;
}

/** A refusal is an answer here. */
async function take(body) {
	try {
		return await ask('POST', '/ratelimit', body);
	} catch (error) {
		if (error instanceof Problem && error.said.status === 429) return error.said;
		throw error;
	}
}

/**
 * The points of the drawing. Between two tries a leaky bucket drains steadily: it is empty after
 * reset_after_ms.
 */
class Trial {
	constructor() {
		this.columns = [[], [], [], [], []];
		this.allowed = this.refused = 0;
		this.last = null;
	}

	add(at, { allowed, capacity, remaining, reset_after_ms: reset }) {
		const level = capacity - remaining;
		if (this.last) {
			const { level: before, at: then, empty } = this.last;
			const drained = empty > 0 ? before * Math.max(0, 1 - ((at - then) * 1000) / empty) : before;
			this.put(at - 0.0005, Math.min(drained, level), capacity, null, null);
		}
		this.put(at, level, capacity, allowed ? level : null, allowed ? null : level);
		allowed ? this.allowed++ : this.refused++;
		this.last = { at, level, empty: reset };
	}

	put(...values) {
		values.forEach((value, column) => this.columns[column].push(value));
	}

	told() {
		return [this.columns[1].at(-1), this.columns[2].at(-1), this.allowed, this.refused];
	}
}
