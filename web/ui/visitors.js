// Visitors: how many came each day, and how many views they made.
import { path } from './api.js';
import { bars } from './chart.js';
import { field } from './dialog.js';
import { el, facts, route, table } from './dom.js';
import { number } from './format.js';
import { listing } from './listing.js';

const DAY_MS = 86400000;
const RANGES = ['7 days', '30 days', '90 days', '365 days'];
const day = (ms) => new Date(ms).toISOString().slice(0, 10);

export function open(page) {
	return page.names.length ? openOne(page, page.names[0], page.names[1]) : openAll(page);
}

function openAll(page) {
	const all = table({
		label: 'Pages',
		key: (one) => one.name,
		empty: 'No page has visitors.',
		columns: [
			{
				title: 'Page',
				kind: 'head',
				text: (one) => one.name,
				link: (one) => route('visitors', one.name),
			},
		],
	});
	return listing(page, {
		what: 'pages',
		where: '/uv',
		name: (one) => one.name,
		open: (name) => route('visitors', name),
		shown: all,
	});
}

function openOne(page, name, days = '30') {
	let range = RANGES.find((one) => one.startsWith(`${days} `)) ?? RANGES[1];
	const choice = field({ label: 'Show', name: 'range', options: RANGES, value: range });
	choice.lastChild.onchange = (event) => {
		range = event.target.value;
		history.replaceState(null, '', route('visitors', name, range.split(' ')[0]));
		page.refresh();
	};
	const sums = facts('In these days');
	const visitors = bars({ title: 'Unique visitors a day', colour: 'accent' });
	const views = bars({ title: 'Page views a day', colour: 'delayed' });
	page.root.append(
		el('a', { class: 'back', href: '#/visitors' }, 'All pages'),
		choice,
		sums.node,
		visitors.node,
		views.node,
	);
	return async () => {
		const now = Date.now();
		const query = new URLSearchParams({
			from: day(now - (parseInt(range, 10) - 1) * DAY_MS),
			to: day(now),
		});
		const [uv, pv] = await Promise.all([
			page.ask('GET', `${path('uv', name)}?${query}`),
			page.ask('GET', `${path('pv', name)}?${query}`),
		]);
		sums.show([
			['Unique visitors', `${number(uv.count)} ± ${number(Math.ceil(uv.count * uv.standard_error))}`],
			['Page views', number(pv.count)],
			['From', uv.from],
			['To', uv.to],
		]);
		visitors.show(uv.days.map((one) => [one.day, one.count]));
		views.show(pv.days.map((one) => [one.day, one.count]));
	};
}
