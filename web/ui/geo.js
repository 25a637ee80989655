// Geo: the members of a set on a map, and those near a point.
import { list, path } from './api.js';
import { field } from './dialog.js';
import { back, buttons, el, facts, route, setText } from './dom.js';
import { number, plural, rough } from './format.js';
import { listing } from './listing.js';
import { Atlas } from './map.js';
import { EXPIRES, expires, removal } from './simple.js';
import { table } from './table.js';

const METRES = { m: 1, km: 1000, mi: 1609.34, ft: 0.3048 };
const MOST = 1000;

export function open(page) {
	return page.names.length ? openOne(page, page.names[0]) : openAll(page);
}

const KIND = {
	path: 'geo',
	one: 'geo set',
	name: (set) => set.name,
	holds: (set) => plural(set.size, 'member'),
	loss: 'All its members and their positions are removed.',
};
const make = (name) => ['PUT', path('geo', name, 'members', 'rider-1'), { longitude: 13.4, latitude: 52.5 }];

function openAll(page) {
	const all = table({
		label: 'Geo sets',
		key: (one) => one.name,
		turn: (by) => look.turn(by),
		columns: [
			{
				title: 'Set',
				kind: 'head',
				text: (one) => one.name,
				sort: (one) => one.name,
				link: (one) => route('geo', one.name),
			},
			{ title: 'Members', number: true, text: (one) => number(one.size), sort: (one) => one.size },
			{ title: 'Cells', number: true, text: (one) => number(one.cells) },
			EXPIRES,
			...(page.write ? [{ title: '', kind: 'actions', make: buttons(removal(page, KIND)) }] : []),
		],
	});
	const look = listing(page, {
		what: 'sets',
		where: '/geo',
		name: (one) => one.name,
		open: (name) => route('geo', name),
		shown: all,
		none: 'There are no geo sets.',
		make: make('riders'),
	});
	return look;
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

const PLACE = [
	{ title: 'Member', kind: 'head', text: (one) => one.member, sort: (one) => one.member },
	{ title: 'Longitude', number: true, text: (one) => one.longitude.toFixed(5) },
	{ title: 'Latitude', number: true, text: (one) => one.latitude.toFixed(5) },
	{ title: 'Geohash', kind: 'code', text: (one) => one.geohash },
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
	const members = table({
		label: 'Members',
		key: (one) => one.member,
		empty: 'No member is there.',
		columns: PLACE,
	});
	const distances = table({
		label: 'Members near the point',
		key: (one) => one.member,
		empty: 'No member is there.',
		columns: [
			PLACE[0],
			{
				title: 'Distance',
				number: true,
				text: (one) => `${rough(one.distance)} ${near?.unit ?? ''}`,
				sort: (one) => one.distance,
			},
			...PLACE.slice(1),
		],
	});
	const heading = el('h2');
	const bar = buttons(removal(page, KIND))(() => ({ name }));
	bar.update({ name });
	page.root.append(
		back('geo', 'All geo sets'),
		...(page.write ? [bar.node] : []),
		about.node,
		drawing.node,
		form,
		heading,
		members.node,
		distances.node,
	);
	let known = null;
	return async () => {
		const asked = near;
		const set = await page.one(path('geo', name), {
			what: 'geo set',
			name,
			list: 'geo',
			make: make(name),
			exists: (found) => found.size > 0,
		});
		if (!set) return;
		const nearby = asked && (await nearTo(page, name, asked));
		// A thousand members are read when their number changes, not every two seconds.
		if (known === null || set.size !== known.size)
			known = { size: set.size, items: await allOf(page, name) };
		if (asked !== near) return;
		if (known.items.length && !input('longitude').value) {
			input('longitude').value = known.items[0].longitude.toFixed(5);
			input('latitude').value = known.items[0].latitude.toFixed(5);
		}
		about.show([
			['Members', number(set.size)],
			['On the map', number(known.items.length)],
			['Expires', expires(set)],
		]);
		drawing.show(known.items, new Set(nearby?.items.map((one) => one.member)), asked && circle(asked));
		setText(
			heading,
			asked
				? `${number(nearby.items.length)} within ${asked.radius} ${asked.unit}, the nearest first`
				: 'Members',
		);
		members.node.hidden = Boolean(asked);
		distances.node.hidden = !asked;
		if (asked) distances.show(nearby.items);
		else members.show(known.items);
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
