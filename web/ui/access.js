// What a token without info:read may see: the overview is not for it, so each list is asked once.
import { hasNoList } from './api.js';
import { el, route, setText } from './dom.js';
import { table } from './table.js';

const AT_ONCE = 4;
const WHERE = { limits: '/ratelimit/policies', visitors: '/uv', schedules: '/queues' };

/** Of "the token lacks the scope 'locks:list'", what it lacks. */
const lacking = (error) => /'([^']+)'/.exec(error.said.detail)?.[1] ?? error.said.detail;

/** `views`: [[name, title]] of those that list something. Answers how to look. */
export function openAccess(page, views) {
	const words = el('p', { class: 'muted' }, 'Asking for each list.');
	const shown = table({
		label: 'What this token can see',
		key: ({ title }) => title,
		columns: [
			{ title: 'Page', kind: 'head', make: title },
			{ title: 'This token', kind: 'wide', text: ({ lacks }) => (lacks ? `lacks ${lacks}` : 'may list it') },
		],
	});
	page.root.append(el('h2', {}, 'What this token can see'), words, shown.node);
	let rows = null;
	page.every_ms = 60_000;
	return async () => {
		rows ??= await look(page, views);
		shown.show(rows);
		const open = rows.filter(({ lacks }) => !lacks).length;
		setText(words, `It may list ${open} of ${rows.length} kinds. What it may do to a name of its own is not listed.`);
	};
}

function title() {
	const node = el('a');
	return {
		node,
		update(one) {
			setText(node, one.title);
			if (one.lacks) node.removeAttribute('href');
			else node.setAttribute('href', route(one.view));
		},
	};
}

async function look(page, views) {
	const left = views.map(([view, title]) => ({ view, title, lacks: null }));
	const rows = [...left];
	const work = async () => {
		for (let one = left.shift(); one; one = left.shift()) {
			try {
				await page.ask('GET', `${WHERE[one.view] ?? `/${one.view}`}?limit=1`);
			} catch (error) {
				if (hasNoList(error)) continue;
				if (error.said?.status !== 403) throw error;
				one.lacks = lacking(error);
			}
		}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, work));
	return rows.toSorted((a, b) => Boolean(a.lacks) - Boolean(b.lacks));
}
