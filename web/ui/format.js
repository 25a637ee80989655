// Numbers, durations and instants as people read them.

import { now } from './now.js';

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const times = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' });
const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' });
const PARTS = ['Date', 'Hours', 'Minutes', 'Seconds'];

export function number(value) {
	return typeof value === 'number' ? whole.format(value) : String(value ?? '–');
}

/** How many of something: "1 message", "1,234 messages". */
export function plural(count, one, many = `${one}s`) {
	return `${number(count)} ${count === 1 ? one : many}`;
}

export function rough(value) {
	return value === null || value === undefined ? '–' : short.format(value);
}

const UNITS = [
	['d', 86400000],
	['h', 3600000],
	['min', 60000],
	['s', 1000],
	['ms', 1],
];
const SPACE = '\u00a0'; // a duration is one word: no line ends within it

/** The two largest units, for what passes: "1 min 20 s". Below a minute it is one unit. */
export function duration(ms) {
	if (ms < 1000) return `${Math.max(0, Math.round(ms))}${SPACE}ms`;
	const first = UNITS.findIndex(([, size]) => ms >= size);
	return inUnits(ms, UNITS.slice(first, first + (ms < 60000 ? 1 : 2)), SPACE);
}

/**
 * All units, for what is set: "1 s 500 ms". parseDuration reads it back as the same number; what
 * is edited has plain spaces.
 */
export function exactDuration(ms, space = SPACE) {
	return inUnits(ms, UNITS, space) || `0${space}s`;
}

function inUnits(ms, units, space) {
	const parts = [];
	let rest = ms;
	for (const [unit, size] of units) {
		const count = Math.floor(rest / size);
		rest -= count * size;
		if (count) parts.push(`${count}${space}${unit}`);
	}
	return parts.join(space);
}

const SPELLINGS = new Map(
	[
		['ms', 'msec', 'millisecond', 'milliseconds'],
		['s', 'sec', 'secs', 'second', 'seconds'],
		['min', 'm', 'mins', 'minute', 'minutes'],
		['h', 'hr', 'hrs', 'hour', 'hours'],
		['d', 'day', 'days'],
		['w', 'week', 'weeks'],
	].flatMap((spellings) => spellings.map((one) => [one, sizeOf(spellings[0])])),
);

function sizeOf(unit) {
	return unit === 'w' ? 604800000 : new Map(UNITS).get(unit);
}

/**
 * Milliseconds of what people write: "14 d", "1 h 30 min", "1.5h", "0". Null when it is not a
 * duration: a number without a unit could mean anything, except 0.
 */
export function parseDuration(text) {
	const said = text.trim().toLowerCase();
	if (/^0+$/.test(said)) return 0;
	if (!/^(\d+(\.\d+)?\s*[a-z]+[\s,]*)+$/.test(said)) return null;
	let sum = 0;
	for (const [, count, unit] of said.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/g)) {
		if (!SPELLINGS.has(unit)) return null;
		sum += Number(count) * SPELLINGS.get(unit);
	}
	return Number.isSafeInteger(Math.round(sum)) ? Math.round(sum) : null;
}

/** The one form of a point in time, in the browser's zone: "2026-11-22 09:05:07 GMT+1". */
export function instant(ms) {
	const date = new Date(ms);
	const [day, ...time] = PARTS.map((part) => String(date[`get${part}`]()).padStart(2, '0'));
	const month = String(date.getMonth() + 1).padStart(2, '0');
	const name = zone.formatToParts(date).find(({ type }) => type === 'timeZoneName').value;
	return `${date.getFullYear()}-${month}-${day} ${time.join(':')} ${name}`;
}

const zoneOf = (ms) => instant(ms).split(' ').at(-1);

/** The heading of a column of instants: it has the zone that its rows need not repeat. */
export const inZone = (title) => `${title} (${zoneOf(now())})`;

/** An instant below such a heading. It has its zone only if that differs, as in another season. */
export const instantInZone = (ms) =>
	zoneOf(ms) === zoneOf(now()) ? instant(ms).split(' ').slice(0, 2).join(' ') : instant(ms);

/** The same point in time by UTC, which logs of servers have: "2026-11-22 08:05:07 UTC". */
export function utc(ms) {
	return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** When something ends; null is never. */
export function expiry(ms) {
	if (ms === null || ms === undefined) return 'never';
	const rest = ms - now();
	return rest > 0 ? `in${SPACE}${duration(rest)}` : 'now';
}

/** How long it is until then; of the past the point in time. */
export const untilOrAt = (ms) => (ms > now() ? expiry(ms) : instant(ms));

export function clock(ms) {
	return times.format(new Date(ms));
}

/** The time of day, with its day if that is not today. */
export function clockOrInstant(ms) {
	const isToday = new Date(ms).toDateString() === new Date(now()).toDateString();
	return isToday ? clock(ms) : instant(ms);
}

export function bytes(value) {
	if (value === null || value === undefined) return '–';
	const unit = value < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(value) / 10));
	return `${rough(value / 1024 ** unit)}${SPACE}${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

/** How long something takes: three digits. */
export function took(ms) {
	if (ms === null || ms === undefined) return '–';
	return ms < 1000 ? `${rough(ms)}${SPACE}ms` : `${rough(ms / 1000)}${SPACE}s`;
}
