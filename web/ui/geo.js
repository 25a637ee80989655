// Geo: members of a set on a map without tiles, and who is near a point.
import { list, path } from './api.js';
import { field } from './dialog.js';
import { el, facts, route, setText, table } from './dom.js';
import { number, rough } from './format.js';
import { listing } from './listing.js';
import { Atlas } from './map.js';

const METRES = { m: 1, km: 1000, mi: 1609.34, ft: 0.3048 };
const MOST = 1000;
const FIRST = 50;

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	const all = table({
		label: 'Sets',
		key: (one) => one.name,
		empty: 'There are no sets.',
		columns: [
			{ title: 'Set', kind: 'head', text: (one) => one.name, link: (one) => route('geo', one.name) },
			{ title: 'Members', number: true, text: (one) => number(one.size) },
			{ title: 'Cells', number: true, text: (one) => number(one.cells) },
		],
	});
	return listing(page, {
		what: 'sets',
		where: '/geo',
		name: (one) => one.name,
		open: (name) => route('geo', name),
		shown: all,
	});
}

const FIELDS = [
	{ name: 'longitude', label: 'Longitude', type: 'number', min: -180, max: 180, step: 'any', required: true },
	{
		name: 'latitude',
		label: 'Latitude',
		type: 'number',
		min: -85.05112878,
		max: 85.05112878,
		step: 'any',
		required: true,
	},
	{ name: 'radius', label: 'Radius', type: 'number', min: 0, step: 'any', value: '1', required: true },
	{ name: 'unit', label: 'Unit', options: ['km', 'm', 'mi', 'ft'] },
];

function openOne(page, name) {
	let near = null;
	const about = facts('Set');
	const form = el(
		'form',
		{ class: 'row card' },
		...FIELDS.map(field),
		el('button', { type: 'submit', class: 'primary' }, 'Find near'),
		el(
			'button',
			{
				type: 'button',
				onclick: () => {
					near = null;
					page.refresh();
				},
			},
			'Show all',
		),
	);
	const input = (which) => form.elements[which];
	const drawing = new Atlas((longitude, latitude) => {
		input('longitude').value = longitude.toFixed(5);
		input('latitude').value = latitude.toFixed(5);
		form.requestSubmit();
	});
	form.onsubmit = (event) => {
		event.preventDefault();
		near = Object.fromEntries(new FormData(form));
		page.refresh();
	};
	const found = table({
		label: 'Members',
		key: (one) => one.member,
		empty: 'Nobody is there.',
		columns: [
			{ title: 'Member', kind: 'head', text: (one) => one.member },
			{
				title: 'Distance',
				number: true,
				text: (one) =>
					one.distance === undefined ? '–' : `${rough(one.distance)} ${near?.unit ?? ''}`,
			},
			{ title: 'Longitude', number: true, text: (one) => one.longitude.toFixed(5) },
			{ title: 'Latitude', number: true, text: (one) => one.latitude.toFixed(5) },
			{ title: 'Geohash', kind: 'code', text: (one) => one.geohash },
		],
	});
	const heading = el('h2');
	page.root.append(
		el('a', { class: 'back', href: '#/geo' }, 'All sets'),
		about.node,
		drawing.node,
		form,
		heading,
		found.node,
	);
	let members = null;
	return async () => {
		const asked = near;
		const [set, nearby] = await Promise.all([
			page.ask('GET', path('geo', name)),
			asked && nearTo(page, name, asked),
		]);
		// All members are asked for only when there are others: a look at a thousand is not
		// for each two seconds.
		if (members === null || set.size !== members.size)
			members = { size: set.size, items: await allOf(page, name) };
		if (asked !== near) return;
		if (members.items.length && !input('longitude').value) {
			input('longitude').value = members.items[0].longitude.toFixed(5);
			input('latitude').value = members.items[0].latitude.toFixed(5);
		}
		about.show([
			['Members', number(set.size)],
			['On the map', number(members.items.length)],
		]);
		const items = nearby?.items ?? members.items.slice(0, FIRST);
		drawing.show(members.items, new Set(nearby?.items.map((one) => one.member)), asked && circle(asked));
		setText(
			heading,
			asked
				? `${number(items.length)} within ${asked.radius} ${asked.unit}, the nearest first`
				: `Members, ${FIRST} at most`,
		);
		found.show(items);
	};
}

const circle = ({ longitude, latitude, radius, unit }) => ({
	longitude: Number(longitude),
	latitude: Number(latitude),
	metres: Number(radius) * METRES[unit],
});

function nearTo(page, name, near) {
	return page.ask('GET', `/geo/nearby?${new URLSearchParams({ name, ...near, limit: MOST })}`);
}

async function allOf(page, name) {
	const { items } = await list(path('geo', name, 'members'), {
		name: (one) => one.member,
		most: MOST,
		signal: page.signal,
	});
	return items;
}
