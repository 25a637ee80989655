// What needs a person, as GET /overview has it: the worst first, each with the way to it, and the
// findings of a kind as one row that opens. What could not be asked is named: an empty list is good
// news only when the daemon looked everywhere.
import { el, keyed, moment, route, setText } from './dom.js';
import { clockOrInstant, duration, expiry, number, plural } from './format.js';
import { now } from './now.js';

const toQueue = (name) => route('queues', name);

// The title of a kind; what its names are; where a name leads to.
const KINDS = {
	redis_away: { title: 'Redis is away' },
	shard_away: { title: 'A server of the Cluster is away' },
	quorum_server_away: { title: 'A server of the lock quorum is away' },
	redis_refuses: { title: 'Redis refuses calls' },
	permissions_missing: { title: 'The Redis user lacks permissions' },
	redis_emptied: { title: 'Redis lost its data' },
	memory_full: { title: 'Memory is nearly full' },
	push_backing_off: {
		title: 'A program is not called',
		of: 'program',
		to: (name) => route('push', name),
		until: 'called again',
	},
	push_failing: { title: 'A program fails its messages', of: 'program', to: (name) => route('push', name) },
	work_failing: { title: 'Work fails', of: 'queue', to: toQueue, unit: 'deliveries' },
	work_hanging: { title: 'Work hangs', of: 'queue', to: toQueue },
	clock_off: { title: 'A clock is wrong' },
	dead_letters: { title: 'Dead letters', of: 'queue', to: (name) => route('queues', name, 'dead') },
	message_failing: { title: 'A message fails', of: 'queue', to: toQueue },
	messages_waiting: { title: 'Messages wait', of: 'queue', to: toQueue },
	queue_paused: { title: 'A pause is old', of: 'queue', to: toQueue },
	groups_blocked: { title: 'Groups stand still', of: 'queue', to: toQueue },
	schedule_missed: {
		title: 'A schedule is late',
		of: 'queue',
		to: (name) => route('queues', name, 'schedules'),
	},
	lock_waiting: {
		title: 'A lock is waited for',
		of: 'lock',
		to: (name) => route('locks', name),
		unit: 'requests',
	},
};
const aboutOf = (kind) => KINDS[kind] ?? { title: kind };
export const titleOf = (kind) => aboutOf(kind).title;

function amount(value, unit) {
	if (value === null) return '';
	if (unit === 'ms') return duration(value);
	if (unit === 'percent') return `${number(value)} %`;
	if (unit === 'deliveries') return plural(value, 'delivery', 'deliveries');
	return unit === 'requests' ? plural(value, 'request') : plural(value, 'message');
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

const isUnknown = (key, title, detail) => ({ key, severity: 'unknown', title, detail });

const rowOf = (one) => ({
	...one,
	key: `${one.kind} ${one.name}`,
	title: titleOf(one.kind),
	to: one.name !== null && aboutOf(one.kind).to?.(one.name),
	toMessage: one.message_id !== null && route('queues', one.name, 'messages', one.message_id),
	amount: amount(one.value, one.unit),
	since_at_ms: one.unit === 'ms' ? null : one.since_at_ms, // the amount is that time already
});

/** One row for all findings of a kind; `worst` is the first of them. */
const sumOf = ({ kind, finding_count: found, count, since_at_ms, severity }, worst) => ({
	key: kind,
	kind,
	severity,
	title: titleOf(kind),
	many: plural(found, aboutOf(kind).of ?? 'server'),
	amount: amount(count, aboutOf(kind).unit),
	detail: worst ? `The worst is ${worst.name}: ${worst.detail}` : '',
	since_at_ms,
	until_ms: null,
});

const CAUSES = ['redis_away', 'shard_away', 'quorum_server_away', 'redis_refuses', 'permissions_missing'];

/**
 * The rows that an overview makes: what is unknown comes before the rest, for it may hide the
 * worst, and after its cause.
 */
function rowsOf({ kinds, findings, unknown, complete, ...sums }, opened) {
	const isCause = ({ kind }) => CAUSES.includes(kind);
	const rows = rowsOfKinds(kinds.filter(isCause), findings, opened);
	rows.push(
		...unknown.map(({ of, detail }) =>
			isUnknown(`unknown ${of}`, sums[of] ? `Not all known: ${of}` : `Not known: ${of}`, detail),
		),
	);
	if (!complete)
		rows.push(
			isUnknown(
				'incomplete',
				'Not known: the rest',
				'Not everything could be looked at, so there may be more than is listed',
			),
		);
	rows.push(...rowsOfKinds(kinds.filter((one) => !isCause(one)), findings, opened));
	return rows;
}

function rowsOfKinds(kinds, findings, opened) {
	const rows = [];
	for (const sum of kinds) {
		const { kind, finding_count: found } = sum;
		const those = findings.filter((one) => one.kind === kind);
		if (found > 1) rows.push(sumOf(sum, those[0]));
		if (found > 1 && !opened.has(kind)) continue;
		rows.push(...those.map((one) => (found > 1 ? { ...rowOf(one), title: '', isPart: true } : rowOf(one))));
		if (found > those.length)
			rows.push({
				key: `${kind} all`,
				severity: sum.severity,
				isPart: true,
				title: '',
				name: `All ${number(found)}`,
				to: route('findings', kind),
				detail: `These are the worst ${number(those.length)}`,
			});
	}
	return rows;
}

const list = () => el('ul', { class: 'findings', 'aria-label': 'What needs a person' });
const showRows = (rows, latest, toggle) => keyed(rows, latest, ({ key }) => key, (first) => row(first, toggle));

/** {node, show(findings)}: findings of one kind. */
export function findings() {
	const rows = list();
	return {
		node: el('section', { class: 'card flush' }, rows),
		show: (latest) => showRows(rows, latest.map((one) => ({ ...rowOf(one), title: '' }))),
	};
}

/** {node, show(overview), fail(why)}. */
export function attention() {
	const rows = list();
	const looked = moment(clockOrInstant);
	const calm = el('span', {}, 'Nothing needs a person. ');
	const others = el('span', { class: 'muted' }, 'Other daemons, and the programs that they push to, are not looked at.');
	const about = el('p', { hidden: true }, calm, 'Looked at ', looked.node, '. ', others);
	const node = el('section', { class: 'card flush', 'aria-label': 'Attention' }, rows, about);
	const opened = new Set();
	let overview = null;
	const show = (latest, at_ms) => {
		showRows(rows, latest, toggle);
		rows.hidden = latest.length === 0;
		about.className = latest.length ? 'looked' : 'calm';
		calm.hidden = others.hidden = latest.length > 0;
		about.hidden = at_ms === null;
		looked.update(at_ms);
	};
	const draw = () => show(rowsOf(overview, opened), overview.at_ms);
	function toggle(kind) {
		if (!opened.delete(kind)) opened.add(kind);
		if (overview) draw();
		return opened.has(kind);
	}
	return {
		node,
		show(latest) {
			overview = latest;
			draw();
		},
		fail(why) {
			overview = null;
			show([isUnknown('all', 'Not known: all of it', why)], null);
		},
	};
}

function row({ kind, many }, toggle) {
	const title = el('b');
	const open = ({ currentTarget: self }) => self.setAttribute('aria-expanded', String(toggle(kind)));
	const link = many
		? el('button', { type: 'button', class: 'quiet', 'aria-expanded': 'false', onclick: open })
		: el('a');
	const value = el('span', { class: 'amount' });
	const detail = el('span');
	const message = el('a', {}, 'The message');
	const since = moment((ms) => `since ${duration(Math.max(0, now() - ms))}`, '');
	const then = aboutOf(kind).until ?? 'ends';
	const until = moment((ms) => `${then} ${expiry(ms)}`, '');
	const node = el(
		'li',
		{},
		el('span', { class: 'what' }, title, ' ', link),
		value,
		el('span', { class: 'detail' }, detail, ' ', message),
		el('span', { class: 'times' }, since.node, ' ', until.node),
	);
	return {
		node,
		update(one) {
			node.className = [one.severity, one.kind, one.isPart && 'part'].filter(Boolean).join(' ');
			setText(title, one.title);
			setText(link, one.many ?? one.name ?? '');
			if (one.to) link.setAttribute('href', one.to);
			else link.removeAttribute('href');
			message.hidden = !one.toMessage;
			if (one.toMessage) message.setAttribute('href', one.toMessage);
			setText(value, one.amount ?? '');
			setText(detail, one.detail ? sentence(one.detail) : '');
			since.update(one.since_at_ms ?? null);
			until.update(one.until_ms ?? null);
		},
	};
}

/**
 * Tiles of the sums {name, value, kind, note, link}; a sum that is null shows that it is not known,
 * with the reason, and never a nought. `overview` is null when there is none, `why` then.
 */
export function sums(overview, why) {
	const unknown = new Map((overview?.unknown ?? []).map(({ of, detail }) => [of, detail]));
	const least = overview?.complete === false ? 'at least ' : '';
	const withDead = overview?.kinds.find(({ kind }) => kind === 'dead_letters')?.finding_count ?? 0;
	const tile = (name, of, value, note, kind) => {
		const known = overview?.[of];
		// With --lock-quorum locks are null, and not unknown.
		if (overview && !known && !unknown.has(of))
			return { name, value: '–', note: 'locks of a quorum cannot be listed' };
		if (!known) return { name, value: 'not known', kind: 'unknown', note: unknown.get(of) ?? why ?? '' };
		const count = value(known);
		return { name, value: `${least}${number(count)}`, note: note(known), kind: count && kind };
	};
	return [
		tile(
			'Dead letters',
			'queues',
			({ dead }) => dead,
			({ count }) => `in ${least}${number(withDead)} of ${plural(count, 'queue')}`,
			'dead',
		),
		tile(
			'Messages due',
			'queues',
			({ ready, blocked }) => ready + blocked,
			({ in_flight: flight, blocked, paused }) =>
				[
					`${number(flight)} in flight`,
					blocked && `${number(blocked)} behind others`,
					paused && `${plural(paused, 'queue')} paused`,
				]
					.filter(Boolean)
					.join(', '),
		),
		tile(
			'Waiting for locks',
			'locks',
			({ waiters }) => waiters,
			({ count }) => `${plural(count, 'lock')} held`,
		),
		...(overview?.push?.targets === 0
			? []
			: [
					tile(
						'Programs not called',
						'push',
						({ backing_off: off }) => off,
						({ targets }) => `of ${number(targets)}, by this daemon`,
						'bad',
					),
				]),
	];
}
