// What needs a person, as GET /overview has it: the worst first, each with the way to it. What
// could not be asked is named: an empty list is good news only when the daemon looked everywhere.
import { el, keyed, moment, route, setText } from './dom.js';
import { clockOrInstant, duration, expiry, number, plural } from './format.js';
import { now } from './now.js';

const KINDS = {
	redis_away: { title: 'Redis is away' },
	shard_away: { title: 'A server of the Cluster is away' },
	quorum_server_away: { title: 'A server of the lock quorum is away' },
	redis_refuses: { title: 'Redis refuses calls' },
	permissions_missing: { title: 'The Redis user lacks permissions' },
	memory_full: { title: 'Memory is nearly full' },
	push_backing_off: {
		title: 'A program is not called',
		to: (name) => route('push', name),
		until: 'called again',
	},
	push_failing: { title: 'A program fails its messages', to: (name) => route('push', name) },
	work_failing: { title: 'Work fails', to: (name) => route('queues', name) },
	work_hanging: { title: 'Work hangs', to: (name) => route('queues', name, 'in_flight') },
	dead_letters: { title: 'Dead letters', to: (name) => route('queues', name, 'dead') },
	message_failing: { title: 'A message fails', to: (name) => route('queues', name) },
	messages_waiting: { title: 'Messages wait', to: (name) => route('queues', name) },
	groups_blocked: { title: 'Groups stand still', to: (name) => route('queues', name) },
	schedule_missed: { title: 'A schedule is late', to: (name) => route('queues', name, 'schedules') },
	lock_waiting: { title: 'A lock is waited for', to: (name) => route('locks', name) },
};

function amount({ value, unit }) {
	if (value === null) return '';
	if (unit === 'ms') return duration(value);
	if (unit === 'percent') return `${number(value)} %`;
	if (unit === 'deliveries') return plural(value, 'delivery', 'deliveries');
	return unit === 'messages' ? plural(value, 'message') : number(value);
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

/** The rows that an overview makes: what is unknown comes first, for it may hide the worst. */
function rowsOf({ findings, unknown, complete, finding_count: count, ...sums }) {
	const rows = unknown.map(({ of, detail }) => ({
		key: `unknown ${of}`,
		severity: 'unknown',
		title: sums[of] ? `Not all known: ${of}` : `Not known: ${of}`,
		detail,
	}));
	if (!complete)
		rows.push({
			key: 'incomplete',
			severity: 'unknown',
			title: 'Not known: the rest',
			detail: 'Not everything could be looked at, so there may be more than is listed',
		});
	for (const one of findings) {
		const { title = one.kind, to } = KINDS[one.kind] ?? {};
		rows.push({ key: `${one.kind} ${one.name}`, ...one, title, to: one.name !== null && to?.(one.name) });
	}
	if (count > findings.length)
		rows.push({
			key: 'more',
			severity: 'warning',
			title: `${number(count - findings.length)} more`,
			detail: 'Only the worst are listed',
		});
	return rows;
}

/** {node, show(overview), fail(why)}. */
export function attention() {
	const rows = el('ul', { class: 'findings', 'aria-label': 'What needs a person' });
	const looked = moment(clockOrInstant);
	const calm = el('span', {}, 'Nothing needs a person. ');
	const others = el('span', { class: 'muted' }, 'Other daemons, and the programs that they push to, are not looked at.');
	const about = el('p', { hidden: true }, calm, 'Looked at ', looked.node, '. ', others);
	const node = el('section', { class: 'card flush', 'aria-label': 'Attention' }, rows, about);
	const show = (latest, at_ms) => {
		keyed(rows, latest, ({ key }) => key, row);
		rows.hidden = latest.length === 0;
		about.className = latest.length ? 'looked' : 'calm';
		calm.hidden = others.hidden = latest.length > 0;
		about.hidden = at_ms === null;
		looked.update(at_ms);
	};
	return {
		node,
		show: (overview) => show(rowsOf(overview), overview.at_ms),
		fail: (why) =>
			show([{ key: 'all', severity: 'unknown', title: 'Not known: all of it', detail: why }], null),
	};
}

function row({ kind }) {
	const title = el('b');
	const link = el('a');
	const value = el('span', { class: 'amount' });
	const detail = el('span', { class: 'detail' });
	const since = moment((ms) => `since ${duration(Math.max(0, now() - ms))}`, '');
	const then = KINDS[kind]?.until ?? 'ends';
	const until = moment((ms) => `${then} ${expiry(ms)}`, '');
	const node = el(
		'li',
		{},
		el('span', { class: 'what' }, title, ' ', link),
		value,
		detail,
		el('span', { class: 'times' }, since.node, ' ', until.node),
	);
	return {
		node,
		update(one) {
			node.className = `${one.severity} ${one.kind ?? ''}`.trim();
			setText(title, one.title);
			setText(link, one.name ?? '');
			if (one.to) link.setAttribute('href', one.to);
			else link.removeAttribute('href');
			setText(value, amount({ value: null, ...one }));
			setText(detail, sentence(one.detail));
			// A value in ms is that time already.
			since.update(one.unit === 'ms' ? null : one.since_at_ms);
			until.update(one.until_ms);
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
	const withDead = (overview?.findings ?? []).filter(({ kind }) => kind === 'dead_letters').length;
	const leastListed = overview?.finding_count > overview?.findings.length ? 'at least ' : least;
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
			({ count, paused }) =>
				`in ${leastListed}${number(withDead)} of ${plural(count, 'queue')}${paused ? `, ${number(paused)} paused` : ''}`,
			'dead',
		),
		tile(
			'Messages due',
			'queues',
			({ ready, blocked }) => ready + blocked,
			({ in_flight: flight, blocked }) =>
				`${number(flight)} in flight${blocked ? `, ${number(blocked)} behind others` : ''}`,
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
