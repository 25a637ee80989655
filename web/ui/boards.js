// Leaderboards: members by rank.
import { path } from './api.js';
import { el, facts, route, table } from './dom.js';
import { instant, number } from './format.js';
import { listing } from './listing.js';

const PAGE = 50;

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	const all = table({
		label: 'Leaderboards',
		key: (one) => one.name,
		empty: 'There are no leaderboards.',
		columns: [
			{
				title: 'Board',
				kind: 'head',
				text: (one) => one.name,
				link: (one) => route('leaderboards', one.name),
			},
			{ title: 'Ranks by', kind: 'wide', text: (one) => one.dimensions.join(', then ') },
			{ title: 'Members', number: true, text: (one) => number(one.size) },
		],
	});
	return listing(page, {
		what: 'boards',
		where: '/leaderboards',
		name: (one) => one.name,
		open: (name) => route('leaderboards', name),
		shown: all,
	});
}

function openOne(page, name) {
	let cursors = ['']; // of the pages up to the one that is shown
	let onward = null;
	let order = 'desc';
	let ranks = null;
	let columns = '';
	const about = facts('Board');
	const place = el('div');
	const step = (label, change) =>
		el(
			'button',
			{
				type: 'button',
				onclick: () => {
					change();
					page.refresh();
				},
			},
			label,
		);
	const back = step('Previous', () => {
		cursors.pop();
	});
	const on = step('Next', () => {
		cursors.push(onward);
	});
	const turn = el(
		'button',
		{
			type: 'button',
			'aria-pressed': 'false',
			onclick: () => {
				order = order === 'desc' ? 'asc' : 'desc';
				cursors = [''];
				turn.setAttribute('aria-pressed', String(order === 'asc'));
				page.refresh();
			},
		},
		'Lowest first',
	);
	page.root.append(
		el('a', { class: 'back', href: '#/leaderboards' }, 'All leaderboards'),
		about.node,
		el('div', { class: 'buttons' }, back, on, turn),
		place,
	);
	return async () => {
		const cursor = cursors.at(-1);
		const query = new URLSearchParams({ limit: PAGE, order, ...(cursor && { cursor }) });
		const [board, found] = await Promise.all([
			page.ask('GET', path('leaderboards', name)),
			page.ask('GET', `${path('leaderboards', name)}/members?${query}`),
		]);
		if (columns !== JSON.stringify(board.dimensions)) {
			columns = JSON.stringify(board.dimensions);
			ranks = members(board.dimensions);
			place.replaceChildren(ranks.node);
		}
		about.show([
			['Members', number(board.size)],
			['Ranks by', board.dimensions.join(', then ')],
			['Expires', board.expires_at_ms ? instant(board.expires_at_ms) : 'never'],
		]);
		ranks.show(found.items);
		onward = found.next_cursor;
		back.disabled = cursors.length === 1;
		on.disabled = !onward;
	};
}

function members(dimensions) {
	return table({
		label: 'Ranks',
		key: (one) => one.member,
		empty: 'This board has no members.',
		columns: [
			{ title: 'Rank', number: true, text: (one) => number(one.rank) },
			{ title: 'Member', kind: 'head', text: (one) => one.member },
			...dimensions.map((dimension) => ({
				title: dimension,
				number: true,
				text: (one) => number(one.scores[dimension]),
			})),
		],
	});
}
