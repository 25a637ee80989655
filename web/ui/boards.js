// Leaderboards: members by rank.
import { path } from './api.js';
import { field } from './dialog.js';
import { back, buttons, el, facts, route } from './dom.js';
import { number, plural } from './format.js';
import { listing } from './listing.js';
import { EXPIRES, expires, removal } from './simple.js';
import { cursorTable, ROWS, table } from './table.js';

const KIND = {
	path: 'leaderboards',
	one: 'leaderboard',
	name: (board) => board.name,
	holds: (board) => plural(board.size, 'member'),
	loss: 'All members and their scores are removed.',
};
const make = (name) => ['PUT', path('leaderboards', name), { dimensions: ['points'] }];

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	const all = table({
		label: 'Leaderboards',
		key: (one) => one.name,
		turn: (by) => look.turn(by),
		columns: [
			{
				title: 'Board',
				kind: 'head',
				text: (one) => one.name,
				sort: (one) => one.name,
				link: (one) => route('leaderboards', one.name),
			},
			{ title: 'Ranks by', kind: 'wide', text: (one) => one.dimensions.join(', then ') },
			{ title: 'Members', number: true, text: (one) => number(one.size), sort: (one) => one.size },
			EXPIRES,
			...(page.write ? [{ title: '', kind: 'actions', make: buttons(removal(page, KIND)) }] : []),
		],
	});
	const look = listing(page, {
		what: 'boards',
		where: '/leaderboards',
		name: (one) => one.name,
		open: (name) => route('leaderboards', name),
		shown: all,
		none: 'There are no leaderboards.',
		make: make('season-1'),
	});
	return look;
}

function openOne(page, name) {
	const at = path('leaderboards', name);
	let order = 'desc';
	let range = {}; // of the scores that are shown, by the first dimension
	let ranks = null;
	let columns = '';
	const about = facts('Board');
	const place = el('div');
	const bar = buttons(removal(page, KIND))(() => ({ name }));
	bar.update({ name });
	const turn = el('button', { type: 'button', 'aria-pressed': 'false' }, 'Lowest first');
	turn.onclick = () => {
		order = order === 'desc' ? 'asc' : 'desc';
		ranks.reset();
		turn.setAttribute('aria-pressed', String(order === 'asc'));
		page.refresh();
	};
	const bound = (label, name) => field({ label, name, type: 'number', min: 0, max: Number.MAX_SAFE_INTEGER });
	const form = el(
		'form',
		{ class: 'row card' },
		bound('Score from', 'min_score'),
		bound('to', 'max_score'),
		el('button', { type: 'submit' }, 'Show these'),
	);
	form.onsubmit = (event) => {
		event.preventDefault();
		range = Object.fromEntries([...new FormData(form)].filter(([, score]) => score !== ''));
		ranks?.reset();
		page.refresh();
	};
	page.root.append(
		back('leaderboards', 'All leaderboards'),
		about.node,
		form,
		el('div', { class: 'buttons' }, turn, ...(page.write ? [bar.node] : [])),
		place,
	);
	const read = (cursor) =>
		page.ask(
			'GET',
			`${at}/members?${new URLSearchParams({ limit: ROWS, order, ...range, ...(cursor && { cursor }) })}`,
		);
	return async () => {
		const board = await page.one(at, { what: 'leaderboard', name, list: 'leaderboards', make: make(name) });
		if (!board) return;
		if (columns !== JSON.stringify(board.dimensions)) {
			columns = JSON.stringify(board.dimensions);
			ranks = cursorTable(members(board.dimensions), read, () => page.refresh());
			place.replaceChildren(ranks.node);
		}
		about.show([
			['Members', number(board.size)],
			['Ranks by', board.dimensions.join(', then ')],
			['Keeps', board.max_members === null ? 'all members' : `the first ${number(board.max_members)}`],
			['Expires', expires(board)],
		]);
		await ranks.look();
	};
}

function members(dimensions) {
	return {
		label: 'Ranks',
		key: (one) => one.member,
		empty: 'There are no such members.',
		columns: [
			{ title: 'Rank', number: true, kind: 'rank', text: (one) => number(one.rank) },
			{ title: 'Member', kind: 'head', text: (one) => one.member },
			...dimensions.map((dimension) => ({
				title: dimension,
				number: true,
				text: (one) => number(one.scores[dimension]),
			})),
		],
	};
}
