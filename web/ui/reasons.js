// Why the dead letters of a queue died: each reason once, the most frequent first.
import { el, keyed, setText } from './dom.js';
import { number, plural } from './format.js';

const MOST = 10; // reasons that are listed

/** {node, show(messages, total)}: the messages that were read, of so many dead letters. */
export function reasons() {
	const words = el('p');
	const list = el('ul');
	const rest = el('p', { class: 'muted' });
	const node = el('div', { class: 'card reasons', role: 'group', 'aria-label': 'Reasons' }, words, list, rest);
	node.hidden = true;
	return {
		node,
		show(messages, total) {
			const counts = new Map();
			for (const { reason } of messages) counts.set(reason, (counts.get(reason) ?? 0) + 1);
			const sorted = [...counts].sort(([, a], [, b]) => b - a);
			const part = messages.length < total ? `${number(messages.length)} of ` : '';
			const all = plural(Math.max(messages.length, total), 'dead letter');
			node.hidden = sorted.length === 0;
			setText(words, `${plural(sorted.length, 'reason')} in ${part}${all}`);
			keyed(list, sorted.slice(0, MOST), ([reason]) => reason, line);
			rest.hidden = sorted.length <= MOST;
			setText(rest, `and ${plural(sorted.length - MOST, 'other reason')}`);
		},
	};
}

function line() {
	const count = el('b');
	const words = el('span');
	return {
		node: el('li', {}, count, words),
		update([reason, times]) {
			setText(count, `${number(times)} ×`);
			setText(words, reason ?? 'without a reason');
		},
	};
}
