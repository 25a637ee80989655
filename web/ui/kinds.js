// The kinds that share one view (simple.js): a row each. `columns` are the columns of the list
// beside the name, `facts` of a state, `parts` what is inside of one. make(name) is the request
// that makes one, `loss` what its deletion means, holds(state) how much is lost by it;
// exists(state) where GET answers for every name, and `listed` where an empty one exists if the
// list has it. Of a part, `remove` is what deletes an item: {one, name(item), at(item): the parts
// of its path, loss}; `set` is what sets it by PUT: {fields(item), body(values)}.
import { path } from './api.js';
import { duration, number, plural, rough } from './format.js';
import { now } from './now.js';

const name = (item) => item.name;
const count = (title, of) => ({ title, number: true, text: (item) => number(of(item)), sort: of });
const left = ({ ttl_ms: ttl }) => duration(ttl);
const json = (value) => JSON.stringify(value);
const percent = (value) => `${rough(100 * value)} %`;
const BITS_SHOWN = 64; // bytes

/** Bytes as bits, eight bytes a line. */
function bits(base64) {
	const bytes = [...atob(base64)].map((one) => one.charCodeAt(0).toString(2).padStart(8, '0'));
	return bytes.map((one, at) => one + (at % 8 === 7 ? '\n' : ' ')).join('') || 'none';
}

export const KINDS = {
	semaphores: {
		title: 'Semaphores',
		one: 'semaphore',
		name,
		columns: [
			count('Held', (item) => item.permits_held),
			count('Limit', (item) => item.limit),
			count('Waiters', (item) => item.waiter_count),
		],
		facts: (state) => [
			['Held', `${number(state.permits_held)} of ${number(state.limit)}`],
			['Waiters', number(state.waiter_count)],
		],
		exists: (state) => state.limit !== null || state.waiter_count > 0,
		parts: [
			{
				title: 'Holders',
				rows: (state) => state.holders.map((item, index) => ({ ...item, index })),
				key: (item) => String(item.index),
				empty: 'All permits are free.',
				columns: [
					{ title: 'Holder', kind: 'head', text: (item) => item.owner ?? 'no label' },
					{ title: 'Remaining', number: true, text: left, sort: (item) => item.ttl_ms },
				],
			},
		],
		none: 'No client holds a permit.',
		make: (one) => [
			'POST',
			path('semaphores', one, 'permits'),
			{ limit: 3, ttl_ms: 60000, owner: 'worker-1' },
		],
		holds: (state) => `${number(state.permits_held)} of ${plural(state.limit ?? 0, 'permit')} held`,
		loss: 'All permits are free at once. Clients that hold one are not notified and may go on working.',
	},
	fences: {
		title: 'Fences',
		one: 'fence',
		name,
		columns: [
			{
				title: 'Highest fencing token',
				number: true,
				kind: 'long',
				text: (item) => String(item.highest),
				sort: (item) => item.highest,
			},
		],
		facts: (state) => [['Highest fencing token', String(state.highest)]],
		exists: (state) => state.highest !== null,
		none: 'No fencing token was checked.',
		make: (one) => ['POST', path('fences', one), { fence: 1 }],
		holds: (state) => `fencing token ${state.highest}`,
		loss: 'The next check accepts any fencing token, also one of a former lock holder.',
	},
	counters: {
		title: 'Counters',
		one: 'group of counters',
		name,
		columns: [],
		expires: true,
		facts: (state) => [['Counters', number(Object.keys(state.counters).length)]],
		exists: (state) => Object.keys(state.counters).length > 0,
		parts: [
			{
				title: 'Counters',
				rows: (state) => Object.entries(state.counters),
				key: ([field]) => field,
				remove: {
					one: 'counter',
					name: ([field]) => field,
					at: ([field]) => ['fields', field],
					loss: 'The next increment starts from 0.',
				},
				set: {
					fields: ([, value]) => [
						{
							name: 'value',
							label: 'Value',
							type: 'number',
							min: Number.MIN_SAFE_INTEGER,
							max: Number.MAX_SAFE_INTEGER,
							step: 1,
							required: true,
							value,
						},
					],
					body: ({ value }) => ({ value: Number(value) }),
				},
				columns: [
					{
						title: 'Counter',
						kind: 'head',
						text: ([field]) => field,
						sort: ([field]) => field,
					},
					{
						title: 'Value',
						number: true,
						text: ([, value]) => number(value),
						sort: ([, value]) => value,
					},
				],
			},
		],
		none: 'There are no counters.',
		make: (one) => ['POST', path('counters', one, 'increment'), { counters: { likes: 1 } }],
		holds: (state) => plural(Object.keys(state.counters).length, 'counter'),
		loss: 'All counters of the group start again from 0.',
	},
	checkins: {
		title: 'Check-ins',
		one: 'check-in list',
		name,
		columns: [],
		expires: true,
		facts: (state) => [
			['Days in the last year', number(state.count)],
			['Current streak', plural(state.current_streak, 'day')],
			['Longest streak', plural(state.longest_streak, 'day')],
			['First day', state.first_day ?? '–'],
		],
		exists: (state) => state.first_day !== null,
		parts: [
			{
				title: 'Days, the latest first',
				rows: (state) => state.days.toReversed(),
				key: ({ date }) => date,
				empty: 'No day of the last year.',
				columns: [{ title: 'Day', kind: 'head', text: ({ date }) => date }],
			},
		],
		none: 'There are no check-ins.',
		make: (one) => ['PUT', path('checkins', one, 'days', new Date(now()).toISOString().slice(0, 10))],
		holds: (state) => `${plural(state.count, 'day')} of the last year`,
		loss: 'All days and streaks are forgotten.',
	},
	bloom: {
		title: 'Bloom filters',
		one: 'Bloom filter',
		name,
		columns: [
			count('Items', (item) => item.size),
			count('Capacity', (item) => item.capacity),
			{
				title: 'Error rate',
				number: true,
				text: (item) => percent(item.error_rate),
				sort: (item) => item.error_rate,
			},
		],
		expires: true,
		facts: (state) => [
			['Items', `${number(state.size)} of ${number(state.capacity)}`],
			['Error rate', `${percent(state.error_rate)} at most`],
			['Expected error now', percent(state.expected_error)],
			['Bits set', percent(state.fill)],
			['Bits', number(state.bits)],
			['Hashes', number(state.hashes)],
		],
		parts: [
			{
				title: 'Layers',
				rows: (state) => state.layers.map((item, index) => ({ ...item, index })),
				key: (item) => String(item.index),
				columns: [
					{ title: 'Layer', kind: 'head', text: (item) => number(item.index + 1) },
					count('Items', (item) => item.size),
					count('Capacity', (item) => item.capacity),
					{ title: 'Bits set', number: true, text: (item) => percent(item.fill) },
				],
			},
		],
		none: 'There are no Bloom filters.',
		make: (one) => ['PUT', path('bloom', one), { capacity: 10000, error_rate: 0.01 }],
		holds: (state) => plural(state.size, 'item'),
		loss: 'The filter forgets all that was added.',
	},
	bitmaps: {
		title: 'Bitmaps',
		one: 'bitmap',
		name,
		columns: [count('Bytes', (item) => item.bytes)],
		expires: true,
		query: () => `?end=${BITS_SHOWN - 1}`,
		facts: (state) => [
			['Bytes', number(state.bytes)],
			['Bits set', number(state.count)],
		],
		exists: (state) => state.bytes > 0,
		listed: true,
		also: (page, at) => page.ask('GET', `${at}/count`),
		parts: [{ title: `Bits of the first ${BITS_SHOWN} bytes`, value: (state) => bits(state.base64) }],
		none: 'There are no bitmaps.',
		make: (one) => ['PUT', path('bitmaps', one, 'bits', '7'), { value: 1 }],
		holds: (state) => plural(state.bytes, 'byte'),
		loss: 'All bits are 0 again.',
	},
	cache: {
		title: 'Cache',
		all: 'cached values',
		one: 'cached value',
		name: (item) => item.key,
		columns: [{ title: 'Version', kind: 'long code', text: (item) => item.version }],
		expires: true,
		facts: (state) => [['Version', state.version]],
		parts: [{ title: 'Value', value: (state) => JSON.stringify(state.value, null, 2) }],
		none: 'Nothing is cached.',
		make: (one) => ['PUT', path('cache', one), { value: { any: 'JSON' }, ttl_ms: 600000 }],
		loss: 'The next reader finds no value and has to compute it.',
	},
	feeds: {
		title: 'Feeds',
		one: 'feed',
		name,
		columns: [count('Items', (item) => item.size), count('Limit', (item) => item.max_items)],
		expires: true,
		facts: (state) => [['Items', `${number(state.size)} of at most ${number(state.max_items)}`]],
		exists: (state) => state.size > 0,
		listed: true,
		parts: [
			{
				title: 'Items, the latest first',
				list: 'items',
				key: ({ id }) => id,
				empty: 'The feed has no item.',
				remove: {
					one: 'item',
					name: ({ id }) => id,
					at: ({ id }) => ['items', id],
					loss: 'Readers of the feed no longer see it.',
				},
				columns: [
					{ title: 'Item', kind: 'wide code', text: ({ item }) => json(item) },
					{ title: 'Pushed', kind: 'when', time: (item) => item.pushed_at_ms },
				],
			},
		],
		none: 'There are no feeds.',
		make: (one) => ['POST', path('feeds', one, 'items'), { items: [{ text: 'hello' }] }],
		holds: (state) => plural(state.size, 'item'),
		loss: 'All items are removed.',
	},
	sets: {
		title: 'Sets',
		one: 'set',
		name,
		columns: [count('Members', (item) => item.size)],
		expires: true,
		facts: (state) => [['Members', number(state.size)]],
		exists: (state) => state.size > 0,
		parts: [
			{
				title: 'Members',
				list: 'members',
				key: (item) => item.member,
				remove: {
					one: 'member',
					name: (item) => item.member,
					at: (item) => ['members', item.member],
					loss: 'A set that loses its last member is gone, and so is its expiry.',
				},
				columns: [
					{
						title: 'Member',
						kind: 'head',
						text: (item) => item.member,
						sort: (item) => item.member,
					},
				],
			},
		],
		none: 'There are no sets.',
		make: (one) => ['PUT', path('sets', one, 'members', 'red')],
		holds: (state) => plural(state.size, 'member'),
		loss: 'All members are removed.',
	},
};
for (const [view, kind] of Object.entries(KINDS)) Object.assign(kind, { view, path: view });
