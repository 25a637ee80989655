// Rate limits: policies, keys that have state and what is left of each, and a trial.
import { list, path } from './api.js';
import { askUser, confirmRemoval, durationField } from './dialog.js';
import { back, buttons, el, facts, route, setText } from './dom.js';
import { duration, exactDuration, number, parseDuration, rough } from './format.js';
import { growth, historyOf, lately } from './history.js';
import { listing } from './listing.js';
import { sample } from './sample.js';
import { table } from './table.js';
import { tester } from './trial.js';

const ALGORITHMS = ['gcra', 'sliding_window', 'fixed_window'];
const KEYS = ['any text', 'network addresses'];
const inWords = (algorithm) => algorithm.replace('_', ' ');
const perWindow = ({ limit, window_ms: window }) => `${number(limit)} in ${exactDuration(window)}`;
const make = (name) => ['PUT', path('ratelimit', 'policies', name), { limit: 100, window_ms: 60000 }];

// A key's state belongs to a policy, or to a limit in a request: its address has '@' there, and
// behind that the name of the check. No policy has an @.
const accountOf = ({ policy, check }) => policy ?? `@${check ?? ''}`;
const accountQuery = (account) => {
	if (!account.startsWith('@')) return { policy: account };
	return account === '@' ? {} : { check: account.slice(1) };
};
const accountInWords = ({ policy, check }) => policy ?? (check ? `check ${check}` : '–');

// A policy is shown by its name; a key by account, algorithm and key.
export const named = (names) => names[2] ?? names[0];

export function open(page) {
	if (page.names.length >= 3) return openKey(page, ...page.names);
	return page.names.length ? openPolicy(page, page.names[0]) : openAll(page);
}

function openAll(page) {
	const policies = table({
		label: 'Policies',
		key: (one) => one.name,
		columns: [
			{
				title: 'Policy',
				kind: 'head',
				text: (one) => one.name,
				sort: (one) => one.name,
				link: (one) => route('limits', one.name),
			},
			{ title: 'Algorithm', text: (one) => inWords(one.algorithm) },
			{ title: 'Limit', number: true, text: perWindow },
			{
				title: 'Burst',
				number: true,
				text: (one) => (one.algorithm === 'gcra' ? number(one.burst) : '–'),
			},
			{ title: 'Without Redis', text: withoutRedis },
			{ title: 'Shadow', text: (one) => (one.shadow ? 'yes' : 'no') },
			{ title: 'From', text: (one) => one.source },
			...(page.write
				? [{ title: '', kind: 'actions', make: buttons(editing(page), policyRemoval(page)) }]
				: []),
		],
	});
	const noPolicy = el(
		'div',
		{ class: 'card nothing', hidden: true },
		el('p', {}, 'There are no policies. A request can also name its own limit.'),
		sample(...make('replies')),
	);
	const further = el('p', { class: 'muted', hidden: true });
	const add = el('button', { type: 'button', onclick: () => edit(page, null) }, 'New policy');
	const shadows = new Map(); // by the name of a listed policy: whether it only reports
	let areAllListed = true;
	const isShadow = ({ policy }) => shadows.get(policy) ?? (policy === null || areAllListed ? false : null);
	const keys = keyTable((by) => look.turn(by), isShadow);
	const trial = page.write ? tester(page) : null;
	page.root.append(
		el('div', { class: 'between' }, el('h2', {}, 'Policies'), ...(page.write ? [add] : [])),
		policies.node,
		further,
		noPolicy,
		...(trial ? [trial.node] : []),
		el('h2', {}, 'Keys'),
	);
	const look = listing(page, {
		what: 'keys',
		where: '/ratelimit/keys',
		name: (one) => JSON.stringify([one.key, accountOf(one), one.algorithm]),
		open: (name) => route('limits', '@', 'gcra', name),
		shown: keys,
		none: 'No key has state.',
		make: ['POST', '/ratelimit', { key: 'client-1', limit: 10, window_ms: 60000 }],
	});
	return async () => {
		const stored = await list('/ratelimit/policies', { name: (one) => one.name, signal: page.signal });
		shadows.clear();
		for (const { name, shadow } of stored.items) shadows.set(name, shadow);
		areAllListed = !stored.more;
		await look();
		policies.show(stored.items);
		further.hidden = areAllListed;
		setText(further, `Only ${number(stored.items.length)} policies are listed; Search finds the others by name.`);
		policies.node.hidden = stored.items.length === 0;
		noPolicy.hidden = !policies.node.hidden;
		trial?.offer(stored.items);
	};
}

const withoutRedis = (one) => (one.on_error === 'open' ? 'lets through' : 'refuses');

function keyTable(turn, isShadow) {
	return table({
		label: 'Keys',
		key: (one) => JSON.stringify([accountOf(one), one.algorithm, one.key]),
		turn,
		columns: [
			{
				title: 'Key',
				kind: 'head',
				text: (one) => one.key,
				sort: (one) => one.key,
				link: (one) => route('limits', accountOf(one), one.algorithm, one.key),
			},
			{ title: 'Left', number: true, make: meter, sort: (one) => one.remaining / one.capacity },
			{
				title: 'Now',
				kind: 'state',
				make: () => verdict(isShadow),
				sort: (one) => one.retry_after_ms ?? -1,
			},
			{ title: 'Counts under', text: accountInWords, sort: accountInWords },
			{ title: 'Algorithm', text: (one) => inWords(one.algorithm) },
		],
	});
}

/** How much is left, as a number and as a bar. */
function meter() {
	const bar = el('progress', { class: 'left', 'aria-hidden': 'true' });
	const text = el('span');
	return {
		node: el('span', { class: 'meter' }, text, bar),
		update(one) {
			text.textContent = `${number(one.remaining)} of ${number(one.capacity)}`;
			bar.max = Math.max(one.capacity, 1);
			bar.value = one.remaining;
		},
	};
}

/**
 * Whether the next call is allowed. A policy in shadow refuses none: what it would do is muted, and
 * so is the decision of a policy that is not listed.
 */
function verdict(isShadow) {
	const node = el('span');
	return {
		node,
		update(one) {
			const shadow = isShadow(one);
			setText(node, one.allowed ? 'allowed' : refusal(one, shadow));
			node.className = one.allowed || shadow !== false ? 'nought' : 'badge paused';
		},
	};
}

/** `shadow` is whether the policy only reports, or null where that is not known. */
function refusal({ retry_after_ms: rest }, shadow) {
	const refused = `refused for ${duration(rest)}`;
	if (shadow === null) return `${refused}, unless it is a shadow`;
	return shadow ? `allowed: shadow only, else ${refused}` : refused;
}

/* ---- A policy ---- */

const editing = (page) => ({
	label: 'Edit',
	about: (one) => one.name,
	when: (one) => one.source !== 'file',
	act: (one) => edit(page, one),
});

/** `use()` is a sentence about how much the policy decides, where that is known. */
const policyRemoval = (page, use = () => '') => ({
	label: 'Delete',
	about: (one) => one.name,
	danger: true,
	when: (one) => one.source !== 'file',
	act: async (one) => {
		const sure = await confirmRemoval({
			title: `Delete the policy '${one.name}'?`,
			go: 'Delete policy',
			text:
				`${use()}Requests that name it are refused with 404 from then on, and queues with this ` +
				'policy deliver nothing. What its keys have used stays until it expires.',
		});
		if (sure)
			await page.act(
				'DELETE',
				path('ratelimit', 'policies', one.name),
				undefined,
				() => `The policy '${one.name}' is deleted.`,
			);
	},
});

const PLOTS = [
	{
		title: 'Decisions per second, by this daemon',
		text: rough,
		steps: undefined,
		series: [
			{ label: 'allowed', colour: 'good', of: growth((one) => one.allowed, 1000) },
			{ label: 'refused', colour: 'delayed', of: growth((one) => one.refused, 1000) },
			{ label: 'refused in shadow', colour: 'idle', of: growth((one) => one.shadow_refused, 1000) },
			{ label: 'without Redis', colour: 'bad', of: growth((one) => one.degraded, 1000) },
		],
	},
];

function openPolicy(page, name) {
	let latest = { name };
	let decisions = '–'; // per minute
	const about = facts('Policy');
	const past = historyOf(page, path('ratelimit', 'policies', name), PLOTS);
	const use = () => (decisions === '–' ? '' : `This daemon decides ${decisions} calls per minute by it. `);
	const bar = buttons(editing(page), policyRemoval(page, use))(() => latest);
	page.root.append(
		back('limits', 'All limits'),
		...(page.write ? [bar.node] : []),
		about.node,
		past.node,
		el('h2', {}, 'Use it'),
		el('div', { class: 'card' }, sample('POST', '/ratelimit', { key: 'client-1', policy: name })),
	);
	return async () => {
		const one = await page.one(path('ratelimit', 'policies', name), {
			what: 'policy',
			name,
			list: 'limits',
			make: make(name),
		});
		if (!one) return;
		latest = one;
		bar.update(one);
		const samples = await past.look();
		decisions = lately(samples, (sample) => sample.allowed + sample.refused);
		about.show([
			['Allowed / min by this daemon', lately(samples, (sample) => sample.allowed)],
			['Refused / min by this daemon', lately(samples, (sample) => sample.refused)],
			['Algorithm', inWords(one.algorithm)],
			['Limit', perWindow(one)],
			['Burst', one.burst === null ? '–' : number(one.burst)],
			['Refused calls count', one.count_refused ? 'yes' : 'no'],
			['Without Redis', withoutRedis(one)],
			['Shadow', one.shadow ? 'yes: it only reports' : 'no'],
			['Key header', one.key_header ?? '–'],
			['Keys', keysInWords(one.address)],
			['From', one.source === 'file' ? 'the policy file; edit it there' : 'Redis'],
		]);
	};
}

function keysInWords(address) {
	if (!address) return KEYS[0];
	const { ipv6_prefix: six, ipv4_prefix: four, other, from_right: fromRight } = address;
	const others = other === 'keep' ? 'others as they are' : 'others are refused';
	const place = fromRight ? `; in a header, number ${fromRight} from the right` : '';
	return `${KEYS[1]}: IPv6 by /${six}, IPv4 by /${four}; ${others}${place}`;
}

const WHOLE = { type: 'number', min: 1, step: 1, required: true };

function policyFields(one) {
	const is = (value) => (value ? 'yes' : 'no');
	return [
		...(one ? [] : [{ name: 'name', label: 'Name', required: true, maxlength: 512 }]),
		{ name: 'algorithm', label: 'Algorithm', options: ALGORITHMS, value: one?.algorithm ?? 'gcra' },
		{ ...WHOLE, name: 'limit', label: 'Limit', value: one?.limit ?? 100 },
		durationField({
			name: 'window',
			label: 'Window',
			ms: one?.window_ms ?? 60000,
			min: 1,
			max: 31622400000,
		}),
		{ ...WHOLE, name: 'burst', label: 'Burst, of gcra only', required: false, value: one?.burst },
		{
			name: 'on_error',
			label: 'Without Redis',
			options: ['closed', 'open'],
			value: one?.on_error ?? 'closed',
		},
		{
			name: 'count_refused',
			label: 'Refused calls count',
			options: ['no', 'yes'],
			value: is(one?.count_refused),
		},
		{ name: 'shadow', label: 'Shadow: only report', options: ['no', 'yes'], value: is(one?.shadow) },
		{ name: 'keys', label: 'Keys', options: KEYS, value: KEYS[one?.address ? 1 : 0] },
		...addressFields(one?.address),
	];
}

const addressFields = (address) => [
	{
		...WHOLE,
		name: 'ipv6',
		label: 'Bits of an IPv6 address that count',
		max: 128,
		value: address?.ipv6_prefix ?? 64,
	},
	{
		...WHOLE,
		name: 'ipv4',
		label: 'Bits of an IPv4 address that count',
		max: 32,
		value: address?.ipv4_prefix ?? 32,
	},
	{
		name: 'other',
		label: 'What is not an address',
		options: ['refuse', 'keep'],
		value: address?.other ?? 'refuse',
	},
];

/** What the form has of `address`; the rest of it is not changed here. */
const addressOf = ({ keys, ipv6, ipv4, other }) =>
	keys === KEYS[1] ? { ipv6_prefix: Number(ipv6), ipv4_prefix: Number(ipv4), other } : null;

/** Whether a policy has the value already; of an object, each of its members. */
function has(stored, value) {
	if (value === null || typeof value !== 'object') return stored === value;
	return stored !== null && Object.entries(value).every(([member, wanted]) => stored[member] === wanted);
}

/** Changes a policy, or makes one if there is none yet. */
async function edit(page, one) {
	const said = await askUser({
		title: one ? `Policy '${one.name}'` : 'New policy',
		go: one ? 'Save' : 'Create',
		fields: policyFields(one),
	});
	if (!said) return;
	const wanted = {
		algorithm: said.algorithm,
		limit: Number(said.limit),
		window_ms: parseDuration(said.window),
		burst: said.burst && said.algorithm === 'gcra' ? Number(said.burst) : null,
		on_error: said.on_error,
		count_refused: said.count_refused === 'yes',
		shadow: said.shadow === 'yes',
		address: addressOf(said),
	};
	const changed = Object.entries(wanted).filter(([field, value]) =>
		one ? !has(one[field], value) : value !== null,
	);
	const name = one?.name ?? said.name;
	if (changed.length)
		await page.act(
			one ? 'PATCH' : 'PUT',
			path('ratelimit', 'policies', name),
			Object.fromEntries(changed),
			() => `The policy '${name}' is saved.`,
		);
}

/* ---- A key ---- */

function openKey(page, account, algorithm, key) {
	const by = accountQuery(account);
	const at = `${path('ratelimit', 'keys', key)}?${new URLSearchParams({ ...by, algorithm })}`;
	const own = { key, limit: 10, window_ms: 60000 };
	let latest = { capacity: 0, remaining: 0 };
	const level = el('progress', { class: 'level', 'aria-label': 'Used' });
	const about = facts('State of the key');
	const bar = buttons({
		label: 'Forget',
		about: () => key,
		danger: true,
		act: async () => {
			const sure = await confirmRemoval({
				title: `Forget '${key}'?`,
				go: 'Forget key',
				text:
					`It has used ${number(latest.capacity - latest.remaining)} of ${number(latest.capacity)}. ` +
					`Its limit${by.policy || by.check ? ` under '${accountInWords(by)}'` : ''} is whole again at once.`,
			});
			if (sure) await page.act('DELETE', at, undefined, () => `'${key}' starts again.`);
		},
	})(() => ({ key }));
	bar.update({ key });
	page.root.append(
		back('limits', 'All limits'),
		...(page.write ? [bar.node] : []),
		el('label', { class: 'field' }, el('span', {}, 'Used'), level),
		about.node,
	);
	return async () => {
		const one = await page.one(at, {
			what: 'state for the key',
			name: key,
			list: 'limits',
			exists: (state) => state.algorithm !== null,
			make: [
				'POST',
				'/ratelimit',
				by.policy ? { key, ...by } : by.check ? { checks: [{ name: by.check, ...own }] } : own,
			],
		});
		if (!one) return;
		latest = one;
		const isShadow = by.policy !== undefined && !one.allowed && (await isInShadow(page, by.policy));
		level.max = Math.max(one.capacity, 1);
		level.value = one.capacity - one.remaining;
		about.show([
			['Remaining', `${number(one.remaining)} of ${number(one.capacity)}`],
			['One more', nextInWords(one, isShadow)],
			['Whole again', one.reset_after_ms ? `in ${duration(one.reset_after_ms)}` : 'now'],
			['Counts under', accountInWords(one)],
			['Algorithm', inWords(one.algorithm)],
			['Limit', one.limit ? perWindow(one) : '–'],
		]);
	};
}

function nextInWords({ allowed, retry_after_ms: rest }, isShadow) {
	if (allowed) return 'is allowed';
	return isShadow ? 'is allowed: the policy is in shadow' : `is allowed in ${duration(rest)}`;
}

/** Whether a policy only reports; a token that may not read it learns no more than the state. */
async function isInShadow(page, policy) {
	try {
		return (await page.ask('GET', path('ratelimit', 'policies', policy))).shadow;
	} catch (error) {
		if (!error.said) throw error;
		return false;
	}
}
