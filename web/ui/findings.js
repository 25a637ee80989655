// All findings of one kind, which the overview sums up in a row.
import { findings, titleOf } from './attention.js';
import { back, el, nothing, setText } from './dom.js';
import { number } from './format.js';

const MOST = 1000;

export const named = ([kind]) => titleOf(kind ?? '');

/** #/findings/KIND */
export function open(page) {
	const [kind = ''] = page.names;
	const shown = findings();
	const part = el('p', { class: 'muted', hidden: true });
	const none = nothing('Nothing of this kind needs a person now.');
	page.root.append(back('', 'Back to the overview'), shown.node, part, none);
	return async () => {
		const { kinds, findings: found } = await page.ask(
			'GET',
			`/overview?kind=${encodeURIComponent(kind)}&limit=${MOST}`,
		);
		const all = kinds.find((one) => one.kind === kind)?.finding_count ?? 0;
		shown.show(found);
		shown.node.hidden = all === 0;
		none.hidden = all > 0;
		part.hidden = all <= found.length;
		setText(part, `These are the worst ${number(found.length)} of ${number(all)}. The list of queues has all.`);
	};
}
