// Visitors: how many came each day, and how many views they made.
import { path } from './api.js';
import { bars, spark } from './days.js';
import { confirmRemoval, field } from './dialog.js';
import { back, buttons, el, facts, route, setText } from './dom.js';
import { number, plural } from './format.js';
import { listing } from './listing.js';
import { now } from './now.js';
import { table } from './table.js';

const DAY_MS = 86400000;
const RANGES = ['7 days', '30 days', '90 days', '365 days'];
const GLANCE_DAYS = 30;
const FRESH_MS = 30000;
const AT_ONCE = 4;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const make = (name) => ['POST', path('uv', name), { visitors: ['ann', 'bob'] }];

export function open(page) {
	return page.names.length ? openOne(page, page.names[0], page.names[1]) : openAll(page);
}

/** Visitors and views of a page in the latest `days`. */
async function counts(page, name, days) {
	const today = now();
	const query = new URLSearchParams({ from: day(today - (days - 1) * DAY_MS), to: day(today) });
	const [uv, pv] = await Promise.all([
		page.ask('GET', `${path('uv', name)}?${query}`),
		page.ask('GET', `${path('pv', name)}?${query}`),
	]);
	return { uv, pv };
}

function openAll(page) {
	const known = new Map(); // of pages that were shown: {at, uv, pv}
	const all = table({
		label: 'Pages',
		key: (one) => one.name,
		turn: (by) => look.turn(by),
		columns: [
			{
				title: 'Page',
				kind: 'head',
				text: (one) => one.name,
				sort: (one) => one.name,
				link: (one) => route('visitors', one.name),
			},
			{
				title: `Visitors, ${GLANCE_DAYS} days`,
				number: true,
				text: ({ name }) => number(known.get(name)?.uv.count),
			},
			{ title: 'Views', number: true, text: ({ name }) => number(known.get(name)?.pv.count) },
			{ title: 'Visitors per day', kind: 'chart', make: () => glance(known) },
			...(page.write ? [{ title: '', kind: 'actions', make: buttons(removal(page)) }] : []),
		],
	});
	const look = listing(page, {
		what: 'pages',
		where: '/uv',
		name: (one) => one.name,
		open: (name) => route('visitors', name),
		shown: all,
		none: 'No page has visitors.',
		make: make('home'),
	});
	return async () => {
		const items = await look();
		const oldest = now() - FRESH_MS;
		const left = all.onPage().filter(({ name }) => !(known.get(name)?.at > oldest));
		const work = async () => {
			for (let one = left.shift(); one; one = left.shift())
				known.set(one.name, { at: now(), ...(await counts(page, one.name, GLANCE_DAYS)) });
		};
		if (left.length === 0) return;
		await Promise.all(Array.from({ length: AT_ONCE }, work));
		all.redraw();
		return items;
	};
}

function glance(known) {
	const line = spark('accent');
	return {
		node: line.node,
		update: ({ name }) => line.show((known.get(name)?.uv.days ?? []).map((one) => one.count)),
	};
}

function removal(page) {
	return {
		label: 'Delete',
		about: (one) => one.name,
		danger: true,
		act: async ({ name }) => {
			const { uv } = await counts(page, name, 365).catch(() => ({ uv: null }));
			const many = uv ? `About ${plural(uv.count, 'visitor')} of the last 365 days, and all before,` : 'The visitors of all days';
			const sure = await confirmRemoval({
				title: `Delete the visitors of '${name}'?`,
				go: 'Delete visitors',
				text: `${many} are forgotten. Its page views stay.`,
			});
			if (sure)
				await page.act(
					'DELETE',
					path('uv', name),
					undefined,
					() => `The visitors of '${name}' are deleted.`,
				);
		},
	};
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
	const none = el('p', { class: 'muted', hidden: true }, 'No visit was counted in these days.');
	const visitors = bars({ title: 'Unique visitors per day', colour: 'accent', signal: page.signal });
	const views = bars({ title: 'Page views per day', colour: 'accent', signal: page.signal });
	page.root.append(
		back('visitors', 'All pages'),
		el('div', { class: 'row' }, choice),
		sums.node,
		none,
		visitors.node,
		views.node,
	);
	return async () => {
		const { uv, pv } = await counts(page, name, parseInt(range, 10));
		sums.show([
			['Unique visitors', `${number(uv.count)} ± ${number(Math.ceil(uv.count * uv.standard_error))}`],
			['Page views', number(pv.count)],
			['Unique visitors in all', uv.total_count === null ? 'not kept' : number(uv.total_count)],
			['Page views in all', pv.total_count === null ? 'not kept' : number(pv.total_count)],
			['From', uv.from],
			['To', `${uv.to} (today in UTC)`],
		]);
		none.hidden = uv.count + pv.count > 0;
		visitors.show(uv.days.map((one) => [one.date, one.count]));
		views.show(pv.days.map((one) => [one.date, one.count]));
	};
}
