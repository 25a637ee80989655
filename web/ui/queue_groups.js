// The groups of a queue: how many messages each has, why it waits, pause and resume.
import { path } from './api.js';
import { askUser, durationField } from './dialog.js';
import { buttons, el } from './dom.js';
import { duration, expiry, number, parseDuration } from './format.js';
import { now } from './now.js';
import { cursorTable, ROWS } from './table.js';

const WHY = {
	in_flight: 'as many as allowed are in flight',
	backoff: 'a failed message is retried first',
	limited: 'its rate has no room',
	paused: 'paused',
};

/** {node, look()} of the queue whose path is `at`; hidden while it has no group. */
export function groupsOf(page, at) {
	const shown = cursorTable(
		{ label: 'Groups', key: ({ group }) => group, columns: columnsOf(page, at) },
		(cursor) => {
			const query = new URLSearchParams({ limit: ROWS, ...(cursor && { cursor }) });
			return page.ask('GET', `${at}/groups?${query}`);
		},
		() => page.refresh(),
	);
	let hasSome = false; // a later page may be empty
	const node = el('section', { class: 'stack tight', hidden: true }, el('h2', {}, 'Groups'), shown.node);
	return {
		node,
		async look() {
			const items = await shown.look();
			hasSome ||= items?.length > 0;
			node.hidden = !hasSome;
		},
	};
}

function columnsOf(page, at) {
	const offered = buttons(
		{
			label: 'Pause',
			about: ({ group }) => group,
			when: ({ reason }) => reason !== 'paused',
			act: ({ group }) => pause(page, at, group),
		},
		{
			label: 'Resume',
			about: ({ group }) => group,
			when: ({ reason }) => reason === 'paused',
			act: ({ group }) => resume(page, at, group),
		},
	);
	return [
		{ title: 'Group', kind: 'id', text: ({ group }) => group },
		{ title: 'Ready', number: true, text: ({ ready }) => number(ready) },
		{ title: 'Blocked', number: true, text: ({ blocked }) => number(blocked) },
		{ title: 'In flight', number: true, text: (one) => number(one.in_flight) },
		{ title: 'Oldest', kind: 'when', time: ({ oldest_at_ms: sent }) => sent, words: age },
		{ title: 'Waits because', kind: 'wide', text: why },
		...(page.write ? [{ title: '', kind: 'actions', make: offered }] : []),
	];
}

const age = (sent) => `sent ${duration(now() - sent)} ago`;

/** Why none of its messages can be received, and when that ends by itself. */
function why({ reason, until_ms: until }) {
	if (reason === null) return '–';
	return `${WHY[reason] ?? reason}${until === null ? '' : `, ends ${expiry(until)}`}`;
}

async function pause(page, at, group) {
	const said = await askUser({
		title: `Pause the group '${group}'?`,
		go: 'Pause',
		text: 'None of its messages is delivered until then; sending goes on.',
		fields: [
			durationField({
				name: 'duration',
				label: 'For how long',
				ms: 60000,
				min: 1,
				max: 366 * 86400000,
			}),
		],
	});
	if (said)
		await page.act(
			'POST',
			`${at}${path('groups', group)}/pause`,
			{ for_ms: parseDuration(said.duration) },
			(now) => `'${group}' is paused, ends ${expiry(now.until_ms)}.`,
		);
}

async function resume(page, at, group) {
	await page.act('POST', `${at}${path('groups', group)}/resume`, undefined, () => `'${group}' goes on.`);
}
