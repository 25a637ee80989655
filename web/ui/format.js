// Numbers, durations and instants as people read them.

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const times = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' });
const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' });
const PARTS = ['Date', 'Hours', 'Minutes', 'Seconds'];

export function number(value) {
	return typeof value === 'number' ? whole.format(value) : String(value ?? '–');
}

export function rough(value) {
	return value === null || value === undefined ? '–' : short.format(value);
}

const UNITS = [
	['d', 86400000],
	['h', 3600000],
	['min', 60000],
	['s', 1000],
];

/** The two largest units: "1 min 20 s". */
export function duration(ms) {
	if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
	const first = UNITS.findIndex(([, size]) => ms >= size);
	const [unit, size] = UNITS[first];
	const next = UNITS[first + 1];
	const rest = next ? Math.floor((ms % size) / next[1]) : 0;
	return `${Math.floor(ms / size)} ${unit}` + (rest ? ` ${rest} ${next[0]}` : '');
}

/** The one form of a point in time, in the browser's zone: "2026-11-22 09:05:07 GMT+1". */
export function instant(ms) {
	const date = new Date(ms);
	const [day, ...time] = PARTS.map((part) => String(date[`get${part}`]()).padStart(2, '0'));
	const month = String(date.getMonth() + 1).padStart(2, '0');
	const name = zone.formatToParts(date).find(({ type }) => type === 'timeZoneName').value;
	return `${date.getFullYear()}-${month}-${day} ${time.join(':')} ${name}`;
}

/** When something ends; null is never. */
export function expiry(ms) {
	if (ms === null || ms === undefined) return 'never';
	const rest = ms - Date.now();
	return rest > 0 ? `in ${duration(rest)}` : 'now';
}

export function clock(ms) {
	return times.format(new Date(ms));
}

export function bytes(value) {
	if (value === null || value === undefined) return '–';
	const unit = value < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(value) / 10));
	return `${rough(value / 1024 ** unit)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

/** How long something takes: three digits. */
export function took(ms) {
	if (ms === null || ms === undefined) return '–';
	return ms < 1000 ? `${rough(ms)} ms` : `${rough(ms / 1000)} s`;
}
