// GET /ui: the page of a queue shows why messages fail, and what can be done about them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { api, counts, faults, give, go, guarded, HOSTILE, row, rowHas, shows, SLOW } from './data.mjs';
import { open } from './stage.mjs';

const run = promisify(execFile);
const WORKER = 'worker-0.eu-central-1';
const LONG = 'timeout: https://hooks.example.com/v1/callback/orders/4711 did not answer within 30 s. '.padEnd(160, 'x ');
const HEADS = '#view table[aria-label=Messages] th:visible';

/** Opens /ui of a daemon without queues. */
async function begin(t, ...options) {
  const stage = await open(...options);
  t.after(() => stage.close());
  return { stage, page: await stage.visit('/ui') };
}

/** Sends messages, receives them, and rejects each for its reason. */
async function fail(url, queue, reasons, { groups = [null], ...how } = {}) {
  const messages = reasons.map((_, at) => ({ body: { order: 4711 + at }, group: groups[at % groups.length] }));
  await api(url, 'POST', `/queues/${queue}/messages`, { messages });
  const { messages: taken } = await api(url, 'POST', `/queues/${queue}/receive`, { limit: 100, worker: WORKER });
  assert.equal(taken.length, reasons.length);
  for (const [at, { receipt }] of taken.entries())
    await api(url, 'POST', `/queues/${queue}/deliveries/${receipt}/reject`, { reason: reasons[at], ...how });
}

const heads = async (page) => (await page.locator(HEADS).allInnerTexts()).map((text) => text.replace(/ \(.*/, ''));

test('each state shows the group, the receives, the worker and the last error', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const backoff = { base_ms: 600_000, max_ms: 600_000 };
  await api(stage.url, 'PUT', '/queues/mail', { backoff, group_concurrency: 1 });
  const groups = ['acme', 'bolt', 'cove'];
  await fail(stage.url, 'mail', ['smtp 550', 'smtp 551', 'smtp 552'], { groups, delay_ms: 1_200_000 });
  const { items } = await api(stage.url, 'GET', '/queues/mail/messages?state=delayed');
  for (const { id } of items.slice(0, 2)) await api(stage.url, 'PATCH', `/queues/mail/messages/${id}`, { delay_ms: 0 });
  await go(page, 'queues', 'mail', 'delayed');
  const has = (id, ...texts) => Promise.all(texts.map((hasText) => shows(row(page, id).filter({ hasText }))));
  await has(items[2].id, items[2].group, '1 of 25', WORKER, items[2].reason);
  await page.getByRole('button', { name: /^ready 2/ }).click();
  await has(items[0].id, items[0].group, '1 of 25', WORKER, items[0].reason);
  assert.deepEqual(await heads(page), ['Id', 'Body', 'Group', 'Receives', 'Due', 'Sent', 'Worker', 'Last error']);
  const message = { group: items[0].group, body: 1 };
  await api(stage.url, 'POST', '/queues/mail/messages', message);
  await api(stage.url, 'POST', '/queues/mail/receive', { limit: 1, worker: 'other' });
  await page.getByRole('button', { name: /^in flight 1/ }).click();
  await has(items[0].id, items[0].group, '2 of 25', 'other', items[0].reason);
  await page.getByRole('button', { name: /^blocked 1/ }).click();
  await shows(page.getByRole('row').filter({ hasText: '0 of 25' }).filter({ hasText: items[0].group }));
  stage.assertClean();
});

test('a column without a value in any message is left out', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await api(stage.url, 'POST', '/queues/plain/messages', { id: 'usual', body: 1 });
  await go(page, 'queues', 'plain');
  await shows(row(page, 'usual'));
  assert.deepEqual(await heads(page), ['Id', 'Body', 'Receives', 'Due', 'Sent']);
  await api(stage.url, 'POST', '/queues/plain/messages', { id: 'first', body: 1, priority: 0, group: 'acme' });
  await shows(row(page, 'first'));
  assert.deepEqual(await heads(page), ['Id', 'Body', 'Group', 'Priority', 'Receives', 'Due', 'Sent']);
  stage.assertClean();
});

/** On how many lines the words of an element are. */
const lines = (locator) =>
  locator.evaluate((node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const tops = [...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top));
    const height = node.getBoundingClientRect().height / parseFloat(getComputedStyle(node).lineHeight);
    return Math.min(new Set(tops).size, Math.round(height));
  });

test('a long reason, a worker and the times of a dead letter can be read', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await fail(stage.url, 'mail', [LONG, 'short'], { groups: ['customer-4711'], dead: true });
  for (const width of [1440, 1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await go(page, 'queues', 'mail', 'dead');
    const long = page.locator('#view td.reason summary:visible');
    await shows(long);
    assert.ok((await lines(long)) <= 3, `the reason takes ${await lines(long)} lines at ${width}`);
    const worker = page.locator('td.worker span').first();
    assert.ok((await lines(worker)) <= 2, `the worker takes ${await lines(worker)} lines at ${width}`);
    for (const time of await page.locator('td.when time').all()) assert.ok((await lines(time)) <= 2);
    const [page_px, box_px] = await page.evaluate(() => [
      document.documentElement.scrollWidth - innerWidth,
      Math.max(...[...document.querySelectorAll('.flush')].map((one) => one.scrollWidth - one.clientWidth)),
    ]);
    assert.ok(page_px <= 0 && box_px <= 1, `${page_px} and ${box_px} px too wide at ${width}`);
    if (width === 390) assert.ok((await page.getByLabel('All on this page').boundingBox()).width >= 24);
    await long.click(); // all of it
    assert.equal(await long.evaluate((node) => node.scrollHeight > node.clientHeight), false);
    assert.equal(await long.innerText().then((text) => text.includes(LONG.trim())), true);
    await go(page, 'queues');
    await shows(row(page, 'mail'));
  }
  stage.assertClean();
});

test('the zone of times is in their heading', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await api(stage.url, 'POST', '/queues/mail/messages', { body: 1 });
  await go(page, 'queues', 'mail');
  const zone = await page.evaluate(() => {
    const parts = new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts();
    return parts.find(({ type }) => type === 'timeZoneName').value;
  });
  await shows(page.getByRole('columnheader', { name: `Sent (${zone})`, exact: true }));
  const time = page.locator(`td[data-title="Sent (${zone})"] time`);
  assert.match(await time.innerText(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  await counts(time, 1);
  stage.assertClean();
});

test('messages are filtered by group, among those that were read', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const filter = page.getByLabel('Filter messages by group');
  await api(stage.url, 'POST', '/queues/mail/messages', { id: 'alone', body: 1, delay_ms: 1 });
  await go(page, 'queues', 'mail');
  await shows(row(page, 'alone'));
  await counts(filter.filter({ visible: true }), 0); // no message has a group
  const groups = Array.from({ length: 90 }, (_, at) => (at % 9 ? 'bolt' : 'acme'));
  for (let rounds = 0; rounds < 7; rounds++)
    await api(stage.url, 'POST', '/queues/mail/messages', { messages: groups.map((group) => ({ group, body: 1 })) });
  await page.getByRole('button', { name: /^blocked/ }).click();
  await filter.fill('cme');
  const where = '/queues/mail/messages?state=blocked&limit=200';
  const first = await api(stage.url, 'GET', where);
  const of = (all) => all.filter(({ group }) => group?.includes('cme')).length;
  const words = ({ items }) =>
    `Of ${items.length} messages that were read, ${of(items)} have a group with 'cme' in its name.` +
    ' Next reads the messages after these.';
  await shows(page.getByText(words(first)));
  const rows = page.locator('table[aria-label=Messages] tbody tr');
  assert.equal(of(first.items), 69);
  await counts(rows, 50);
  await counts(rows.filter({ hasText: 'bolt' }), 0);
  await page.getByRole('button', { name: 'Next' }).click();
  await shows(page.locator('.pager').getByText('51 to 69'));
  await page.getByRole('button', { name: 'Next' }).click();
  await shows(page.getByText(words(await api(stage.url, 'GET', `${where}&cursor=${first.next_cursor}`))));
  await counts(rows, 0);
  await filter.fill('');
  await counts(rows, 50);
  stage.assertClean();
});

test('more dead letters are redriven than one request may name', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const groups = ['acme'];
  for (const count of [100, 50]) await fail(stage.url, 'mail', Array(count).fill('boom'), { groups, dead: true });
  await go(page, 'queues', 'mail', 'dead');
  await page.getByLabel('Filter messages by group').fill('acme');
  for (const first of [1, 51, 101]) {
    await shows(page.locator('.pager').getByText(`${first} to ${first + 49} of 150`));
    await page.getByLabel('All on this page').check();
    if (first < 101) await page.getByRole('button', { name: 'Next' }).click();
  }
  await shows(page.getByText('150 selected'));
  await page.getByRole('button', { name: 'Redrive', exact: true }).click();
  await shows(page.getByRole('status').filter({ hasText: 'Ready again: 150.' }));
  assert.equal((await api(stage.url, 'GET', '/queues/mail')).dead, 0);
  stage.assertClean();
});

test('dead letters are summed up by reason', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const why = page.getByRole('group', { name: 'Reasons' });
  const texts = async () => (await why.locator('li').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
  await fail(stage.url, 'mail', ['rare', HOSTILE, HOSTILE, ...Array(7).fill('timeout')], { dead: true });
  await go(page, 'queues', 'mail', 'dead');
  await shows(why.getByText('3 reasons in 10 dead letters', { exact: true }));
  assert.deepEqual(await texts(), ['7 × timeout', `2 × ${HOSTILE}`, '1 × rare']);
  await page.getByRole('button', { name: /^ready 0/ }).click();
  await why.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: /^dead 10/ }).click();
  for (let rounds = 0; rounds < 6; rounds++)
    await fail(stage.url, 'mail', Array.from({ length: 100 }, (_, at) => `reason ${at % 12}`), { dead: true });
  const { items } = await api(stage.url, 'GET', '/queues/mail/messages?state=dead&limit=200');
  assert.equal(items.length, 200);
  await shows(why.getByText('15 reasons in 200 of 610 dead letters', { exact: true }));
  await counts(why.locator('li'), 10);
  await shows(why.getByText('and 5 other reasons'));
  stage.assertClean();
});

test('the badge of a page that only reads explains itself', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const badge = page.getByRole('button', { name: 'read only' });
  const words = page.getByRole('tooltip');
  await counts(words, 0);
  await badge.hover();
  await shows(words.filter({ hasText: '--ui=write' }).filter({ hasText: 'curl' }));
  await words.hover(); // it stays
  await shows(words);
  await page.mouse.move(1000, 500);
  await counts(words, 0);
  for (let steps = 0; !(await badge.evaluate((node) => node === document.activeElement)); steps++) {
    assert.ok(steps < 10, 'no way to the badge by Tab');
    await page.keyboard.press('Tab');
  }
  await shows(words);
  await page.keyboard.press('Escape');
  await counts(words, 0);
  await page.keyboard.press('Enter');
  await shows(words);
  await page.keyboard.press('Tab');
  await counts(words, 0);
  await page.setViewportSize({ width: 390, height: 800 });
  await badge.click();
  await shows(words);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.deepEqual(await faults(page), []);
  stage.assertClean();
});

test('a token that may not read the mode sees that it is not known', SLOW, async (t) => {
  const stage = await guarded(t, 'locks:list');
  const page = await stage.visit('/ui');
  await give(page, 'secret');
  await page.getByRole('button', { name: 'read only' }).hover();
  await shows(page.getByRole('tooltip').filter({ hasText: 'is not known' }));
});

test('a queue that is only read has the commands that change it', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const queue = () => api(stage.url, 'GET', '/queues/mail');
  await fail(stage.url, 'mail', ['boom', 'boom'], { dead: true });
  await go(page, 'queues', 'mail', 'ready');
  await page.getByText('Pause, redrive or purge by curl').click();
  const command = (title) =>
    page
      .locator('#view details div')
      .filter({ has: page.getByText(title, { exact: true }) })
      .last();
  async function runs(title) {
    const text = await command(title).locator('code').innerText();
    await run('sh', ['-c', `${text} -sS --fail-with-body`]);
  }
  await shows(command('Pause').getByRole('button', { name: 'Copy' }));
  await runs('Pause');
  assert.equal((await queue()).settings.paused, true);
  await shows(page.getByText('paused: it delivers no message'));
  await runs('Resume');
  assert.equal((await queue()).settings.paused, false);
  await api(stage.url, 'POST', '/queues/mail/pause', { for_ms: 600000 });
  await shows(page.getByText(/^paused, ends in\s.*: it delivers no message$/));
  await runs('Resume');
  await runs('Redrive dead messages, 1,000 at most');
  assert.deepEqual([(await queue()).dead, (await queue()).ready], [0, 2]);
  await runs('Purge ready messages');
  assert.equal((await queue()).ready, 0);
  await counts(page.getByText(/^(Redrive|Purge) .*messages/), 0);
  assert.deepEqual(await faults(page), []);
  stage.assertClean();
});

test('every setting of a queue is edited, and removed', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const dialog = page.getByRole('dialog');
  const settings = async () => (await api(stage.url, 'GET', '/queues/mail')).settings;
  await api(stage.url, 'PUT', '/ratelimit/policies/partner', { limit: 10, window_ms: 1000 });
  await api(stage.url, 'PUT', '/queues/mail', { max_receives: 3 });
  await go(page, 'queues', 'mail');
  async function save(texts, wanted) {
    await page.getByRole('button', { name: 'Edit settings' }).click();
    for (const [label, text] of Object.entries(texts)) await dialog.getByLabel(label, { exact: true }).fill(text);
    const [request] = await Promise.all([
      page.waitForRequest((one) => one.method() === 'PATCH'),
      dialog.getByRole('button', { name: 'Save' }).click(),
    ]);
    assert.deepEqual(request.postDataJSON(), wanted);
    await dialog.waitFor({ state: 'hidden' });
    const now = await settings();
    for (const [setting, value] of Object.entries(wanted))
      assert.deepEqual(now[setting], value && value.limit ? { burst: value.limit, ...value } : value);
    assert.equal(now.max_receives, 3);
  }
  await save(
    {
      'Rate: messages': '50',
      'Rate: per': '1 min',
      'Rate: at once': '5',
      'Rate of a group: messages': '2',
      'Rate of a group: per': '1 s',
      'In flight at most': '20',
      'In flight of a group': '3',
      'Messages at most': '1000',
      'Bytes of a message at most': '4096',
      Policy: 'partner',
      'Key of the policy': 'acme',
    },
    {
      rate: { limit: 50, window_ms: 60_000, burst: 5 },
      group_rate: { limit: 2, window_ms: 1000 },
      concurrency: 20,
      group_concurrency: 3,
      max_messages: 1000,
      max_message_bytes: 4096,
      policy: { name: 'partner', key: 'acme' },
    },
  );
  await shows(page.locator('dd', { hasText: /^50 per 1\smin, 5 at once$/ }));
  await save({ 'Rate: messages': '25', 'In flight of a group': '' }, {
    rate: { limit: 25, window_ms: 60_000, burst: 5 },
    group_concurrency: null,
  });
  await page.getByRole('button', { name: 'Edit settings' }).click();
  await dialog.getByLabel('Receives until dead; 0: never', { exact: true }).fill('0');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await shows(page.locator('dd', { hasText: /^never dead$/ }));
  await page.getByRole('button', { name: 'Edit settings' }).click();
  const times = { 'Delay of a message': '5 s', 'Life of a message; 0: no limit': '1 h', 'Receives wait': '20 s' };
  for (const [label, text] of Object.entries(times)) await dialog.getByLabel(label, { exact: true }).fill(text);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await shows(page.locator('dd', { hasText: /^20\ss$/ }));
  const { delay_ms: delay, ttl_ms: life, wait_ms: wait } = await settings();
  assert.deepEqual([delay, life, wait], [5000, 3_600_000, 20_000]);
  assert.equal((await settings()).max_receives, 0);
  await page.getByRole('button', { name: 'Edit settings' }).click();
  for (const [label, option] of Object.entries({ 'Dedupe ids of bodies': 'yes', 'Dedupe ids are known in': 'group' }))
    await dialog.locator('.field', { hasText: label }).locator('select').selectOption(option);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await shows(page.locator('dd', { hasText: /^in their group$/ }));
  const { dedupe_by_body: byBody, dedupe_scope: scope } = await settings();
  assert.deepEqual([byBody, scope], [true, 'group']);
  await api(stage.url, 'PATCH', '/queues/mail', { max_receives: 3 });
  await save({ 'Dead letters move to': 'mail-dead' }, { dead_letter_queue: 'mail-dead' });
  await save({ 'Dead letters move to': '' }, { dead_letter_queue: null });
  const empty = ['Rate: messages', 'Rate: per', 'Rate: at once', 'In flight at most', 'Policy', 'Key of the policy'];
  await save(Object.fromEntries(empty.map((label) => [label, ''])), { rate: null, concurrency: null, policy: null });
  stage.assertClean();
});

test('what the daemon refuses of the settings is shown at its field', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const dialog = page.getByRole('dialog');
  const field = (label) =>
    dialog.locator('.field', { has: page.getByText(label, { exact: true }) }).locator('input, select');
  const save = () => dialog.getByRole('button', { name: 'Save' }).click();
  const wrong = (label) =>
    field(label).evaluate((node) => document.getElementById(node.getAttribute('aria-describedby'))?.textContent);
  await api(stage.url, 'POST', '/queues/mail/messages', { group: 'acme', body: 1 });
  await go(page, 'queues', 'mail');
  await page.getByRole('button', { name: 'Edit settings' }).click();
  await field('Rate: messages').fill('50');
  await field('First backoff').fill('1 d');
  await save();
  await shows(dialog.getByText('is required'));
  assert.equal(await wrong('Rate: per'), 'is required');
  await field('Rate: per').fill('1 min');
  await save();
  await shows(dialog.getByText('would have a base_ms of 86400000'));
  assert.match(await wrong('First backoff'), /above its max_ms/);
  assert.equal(await wrong('Rate: per'), undefined);
  await field('First backoff').fill('1 s');
  await field('Order in groups').selectOption('strict');
  await save();
  await shows(dialog.getByRole('alert').filter({ hasText: 'order cannot change while messages of groups' }));
  assert.deepEqual(await faults(page), []);
  await field('Order in groups').selectOption('fair');
  await save();
  await dialog.waitFor({ state: 'hidden' });
  const { settings } = await api(stage.url, 'GET', '/queues/mail');
  assert.deepEqual([settings.order, settings.rate.limit, settings.backoff.base_ms], ['fair', 50, 1000]);
  await api(stage.url, 'POST', '/queues/mail/purge', {});
  await page.getByRole('button', { name: 'Edit settings' }).click();
  await counts(dialog.getByRole('alert'), 0);
  await field('Order in groups').selectOption('strict');
  await save();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await api(stage.url, 'GET', '/queues/mail')).settings.order, 'strict');
  assert.deepEqual(stage.foreign, []); // Chromium itself reports the refusals
});

test('a message has a page with all of its members', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const message = { id: 'lost', group: 'acme', priority: 2, headers: { source: HOSTILE }, traceparent: trace };
  await api(stage.url, 'POST', '/queues/mail/messages', { messages: [{ ...message, body: { order: 4711 } }] });
  const { messages } = await api(stage.url, 'POST', '/queues/mail/receive', { worker: WORKER });
  const reject = { dead: true, reason: LONG };
  await api(stage.url, 'POST', `/queues/mail/deliveries/${messages[0].receipt}/reject`, reject);
  await go(page, 'queues', 'mail', 'ready');
  await page.getByLabel('Find a message by its id').fill('lost');
  await page.getByRole('button', { name: 'Find' }).click();
  await shows(page.getByRole('heading', { name: "Message 'lost'" }));
  await page.waitForURL(/queues\/mail\/messages\/lost$/);
  const fact = (name) => page.locator('dl[aria-label=Message] div', { hasText: name }).locator('dd').innerText();
  const known = { State: 'dead', Group: 'acme', Priority: '2', Receives: '1 of 25', Worker: WORKER, Trace: trace };
  for (const [name, value] of Object.entries(known)) assert.equal(await fact(name), value);
  assert.match(await fact('Died'), /^\d{4}-/);
  for (const text of [LONG.trim(), HOSTILE, '"order": 4711'])
    await shows(page.locator('.card pre').filter({ hasText: text }));
  assert.deepEqual(await faults(page), []);
  await page.getByRole('button', { name: 'Redrive lost' }).click();
  await shows(page.locator('dl[aria-label=Message] dd', { hasText: /^ready$/ }));
  await page.getByRole('link', { name: 'The queue mail' }).click();
  await row(page, 'lost').getByRole('link', { name: 'lost' }).click();
  await shows(page.getByRole('heading', { name: "Message 'lost'" }));
  await page.getByRole('link', { name: 'The queue mail' }).click();
  await api(stage.url, 'PUT', '/queues/mail/schedules/often', { every_ms: 3_600_000, body: 1 });
  await api(stage.url, 'POST', '/queues/mail/schedules/often/run');
  const { items } = await api(stage.url, 'GET', '/queues/mail/messages');
  await page.getByLabel('Find a message by its id').fill(items.find((one) => one.schedule).id);
  await page.getByLabel('Find a message by its id').press('Enter');
  await page.locator('dl[aria-label=Message]').getByRole('link', { name: 'often' }).click();
  await page.waitForURL(/schedules\/often$/);
  stage.assertClean();
});

test('a delayed message is run now, and a dead one is moved', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await api(stage.url, 'POST', '/queues/mail/messages', { id: 'late', body: 1, delay_ms: 3_600_000 });
  await go(page, 'queues', 'mail', 'messages', 'late');
  await page.getByRole('button', { name: 'Run now late' }).click();
  await shows(page.locator('dl[aria-label=Message] dd', { hasText: /^ready$/ }));
  const { messages } = await api(stage.url, 'POST', '/queues/mail/receive', {});
  await api(stage.url, 'POST', `/queues/mail/deliveries/${messages[0].receipt}/reject`, { dead: true });
  await page.getByRole('button', { name: 'Move late' }).click();
  await page.getByLabel('To the queue').fill('other');
  await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
  await shows(page.getByText("No message has the id 'late'."));
  assert.equal((await api(stage.url, 'GET', '/queues/other/messages/late')).state, 'ready');
  assert.deepEqual(stage.foreign, []);
});

test('all delayed messages of a queue are run now', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const delayed = Array.from({ length: 3 }, (_, body) => ({ body, delay_ms: 600_000 }));
  await api(stage.url, 'POST', '/queues/later/messages', { messages: delayed });
  await go(page, 'queues', 'later');
  await page.getByRole('button', { name: 'Run delayed now later' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
  await shows(page.getByRole('status').filter({ hasText: 'Ready again: 3.' }));
  await counts(page.getByRole('button', { name: 'Run delayed now later' }).and(page.locator(':visible')), 0);
  assert.equal((await api(stage.url, 'GET', '/queues/later')).ready, 3);
  stage.assertClean();
});

test('the workers of a queue are listed, and the schedules of all queues', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await api(stage.url, 'POST', '/queues/mail/messages', { body: 1 });
  await api(stage.url, 'POST', '/queues/mail/receive', { worker: HOSTILE });
  await api(stage.url, 'POST', '/queues/mail/receive', {});
  await go(page, 'queues', 'mail');
  await page.getByRole('link', { name: '1, and some without a name' }).click();
  await rowHas(page, HOSTILE, '1', 's ago');
  await rowHas(page, 'without a name', '0');
  await go(page, 'queues', 'empty', 'workers');
  await shows(page.getByText('No worker received from this queue in the last hour.'));
  for (const queue of ['mail', 'bills'])
    await api(stage.url, 'PUT', `/queues/${queue}/schedules/often`, { every_ms: 3_600_000, body: 1 });
  await go(page, 'schedules');
  await shows(row(page, 'mail'));
  await row(page, 'bills').getByRole('link', { name: 'often' }).click();
  await page.waitForURL(/queues\/bills\/schedules\/often$/);
  stage.assertClean();
});
