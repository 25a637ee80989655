// GET /ui: views show what the API has stored, offer only changes that are allowed, and report
// failures. views.test.mjs tests each view by itself.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import { api, begin, counts, give, go, guarded, HOSTILE, name, row, rowHas, shows, SLOW } from './data.mjs';
import { open, startDaemon, startProxy } from './stage.mjs';


test('a reverse proxy may have it below a prefix', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const proxy = await startProxy(stage.url, '/below');
  t.after(() => proxy.stop());
  await api(stage.url, 'POST', '/locks/plain', { ttl_ms: 600_000 });
  const page = await stage.visit('/below/ui', proxy.url);
  await shows(page.locator('.tiles dd.good'));
  await page.getByRole('link', { name: 'Locks' }).click();
  await row(page, 'plain').getByRole('link').click();
  await shows(page.locator('dd', { hasText: 'exclusive' }));
  await page.goto(`${proxy.url}/below/docs`);
  await page.locator('.opblock-tag').first().waitFor();
  stage.assertClean();
});

test('each view shows the data of the API, hostile names as text', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  page.on('dialog', (dialog) => assert.fail(`a script of a name ran: ${dialog.message()}`));

  await go(page, 'queues');
  for (const one of ['plain', HOSTILE]) {
    await shows(row(page, one));
    const cells = await row(page, one).getByRole('cell').allInnerTexts();
    assert.deepEqual(cells.slice(0, 6), [one, '2', '0', '1', '0', '1']);
  }
  await go(page, 'queues', HOSTILE, 'dead');
  await shows(page.getByRole('heading', { name: HOSTILE }));
  await rowHas(page, `${HOSTILE} ready`, JSON.stringify({ said: HOSTILE }), HOSTILE);
  await page.getByRole('button', { name: /^delayed 1/ }).click();
  await rowHas(page, `${HOSTILE} later`, 'in 59 min');

  await go(page, 'locks');
  await rowHas(page, HOSTILE, HOSTILE, 'exclusive', '9 min');
  await go(page, 'locks', HOSTILE);
  await shows(page.locator('pre', { hasText: HOSTILE }));

  await go(page, 'limits');
  await rowHas(page, 'replies', '30 in 1 min', '15');
  await rowHas(page, HOSTILE, '–', 'gcra');
  await row(page, HOSTILE).getByRole('link').click();
  await shows(page.locator('dd', { hasText: '9 of 10' }));

  await go(page, 'geo', HOSTILE);
  await rowHas(page, HOSTILE, '13.40000', '52.50000');
  await counts(page.locator('.map .member'), 2);
  await page.getByRole('button', { name: 'Find near' }).click();
  await shows(page.getByRole('heading', { name: '1 within 1 km' }));
  await counts(page.locator('.map .ring'), 1);

  await go(page, 'visitors', HOSTILE);
  await shows(page.locator('dd', { hasText: '3 ± 1' }));
  await shows(page.locator('dd', { hasText: '17' }));
  await shows(page.locator('figure canvas').first());
  await counts(page.locator('figure').first().locator('tbody tr'), 30);

  await go(page, 'leaderboards', HOSTILE);
  await rowHas(page, HOSTILE, '1', '5');
  await rowHas(page, 'second', '2', '4');
  await shows(page.locator('dd', { hasText: 'all members' }));
  await page.getByLabel('Score from').fill('5');
  await page.getByRole('button', { name: 'Show these' }).click();
  await row(page, 'second').waitFor({ state: 'detached' });
  await rowHas(page, HOSTILE, '1', '5');

  await go(page, 'sales');
  const sale = page.getByRole('region', { name: HOSTILE, exact: true });
  await shows(sale.getByText('open', { exact: true }));
  assert.deepEqual(await sale.locator('.key').allInnerTexts(), ['sold 0', 'held 2', 'left 48']);
  await counts(page.locator('main img'), 0);
  stage.assertClean();
});

test('a list is filtered by name, and opens one', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  for (const [view, what] of [
    ['queues', 'queues'],
    ['limits', 'keys'],
    ['leaderboards', 'boards'],
  ]) {
    await go(page, view);
    await shows(row(page, HOSTILE));
    const filter = page.getByLabel(`Filter ${what} by name`);
    await filter.fill('lai');
    await row(page, HOSTILE).waitFor({ state: 'detached' });
    await shows(row(page, 'plain'));
    await filter.fill('plain');
    await filter.press('Enter');
    await shows(page.getByRole('heading', { name: 'plain', level: 1 }));
  }
  stage.assertClean();
});

test('a click on the map searches for members nearby', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await go(page, 'geo', 'plain');
  await page.locator('.map .member').first().waitFor();
  const [request] = await Promise.all([
    page.waitForRequest(/\/geo\/nearby\?/),
    page.locator('.map').click({ position: { x: 40, y: 40 } }),
  ]);
  assert.equal(new URL(request.url()).searchParams.get('name'), 'plain');
  await shows(page.getByRole('heading', { name: '0 within 1 km' }));
  stage.assertClean();
});

test('nothing can be changed where it only shows', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const asked = [];
  page.on('request', (request) => request.method() !== 'GET' && asked.push(request.method()));
  await shows(page.getByText('read only'));
  const offers =
    /^(Run|Redrive|Purge|Pause|Resume|Release|Reschedule|Delete|Forget|Try it|Edit|New|Send|Set|Publish)/;
  for (const view of [
    ['queues'],
    ['queues', 'plain', 'dead'],
    ['queues', 'plain', 'schedules'],
    ['queues', 'plain', 'schedules', 'plain nightly'],
    ['locks'],
    ['locks', 'plain'],
    ['limits'],
    ['limits', '@', 'gcra', 'plain'],
    ['limits', 'replies'],
    ['sets', 'plain'],
    ['sales', 'plain'],
    ['geo', 'plain'],
    ['keys', 'set:{plain}'],
    ['topics', 'plain'],
  ]) {
    await go(page, ...view);
    await page.locator('td.head, dd').first().waitFor();
    await counts(page.getByRole('button', { name: offers }), 0);
  }
  assert.deepEqual(asked, []);
  stage.assertClean();
});

test('a lock is released by force, after a question', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await go(page, 'locks');
  await page.getByRole('button', { name: 'Release plain', exact: true }).click();
  await shows(page.getByRole('dialog').getByText("'plain' holds it for another"));
  await page.getByRole('button', { name: 'Keep' }).click();
  assert.equal((await api(stage.url, 'GET', '/locks/plain')).held, true);
  await page.getByRole('button', { name: 'Release plain', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Release lock' }).click();
  await shows(page.getByRole('status').filter({ hasText: "'plain' is free." }));
  await row(page, 'plain').waitFor({ state: 'detached' });
  assert.equal((await api(stage.url, 'GET', '/locks/plain')).held, false);
  stage.assertClean();
});

test('a queue is redriven elsewhere, paused, opened, rescheduled, cancelled in and purged', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const queue = () => api(stage.url, 'GET', '/queues/plain');
  const confirm = (label) => page.getByRole('dialog').getByRole('button', { name: label, exact: true }).click();
  const said = (text) => shows(page.getByRole('status').filter({ hasText: text }));
  await api(stage.url, 'PUT', '/queues/plain', { max_receives: 3, backoff: { base_ms: 7, max_ms: 70 } });

  await go(page, 'queues');
  await page.getByRole('button', { name: 'Redrive plain', exact: true }).click();
  await page.getByLabel('Into another queue').fill('elsewhere');
  await confirm('Redrive');
  await said('Ready again: 1.');
  assert.equal((await queue()).dead, 0);
  assert.equal((await api(stage.url, 'GET', '/queues/elsewhere')).ready, 1);

  await page.getByRole('button', { name: 'Pause plain', exact: true }).click();
  await said("'plain' is paused");
  const { settings } = await queue();
  assert.deepEqual([settings.paused, settings.max_receives, settings.backoff], [true, 3, { base_ms: 7, max_ms: 70 }]);
  await page.getByRole('button', { name: 'Resume plain', exact: true }).click();
  await said("'plain' is open");

  await go(page, 'queues', 'plain', 'delayed');
  await page.getByRole('button', { name: 'Reschedule plain later', exact: true }).click();
  await page.getByLabel('From now').fill('1 min');
  await confirm('Reschedule');
  await said('is due in');
  assert.ok((await api(stage.url, 'GET', '/queues/plain/messages/plain%20later')).deliver_at_ms < Date.now() + 61_000);

  const { messages } = await api(stage.url, 'POST', '/queues/plain/receive', {});
  await go(page, 'queues', 'plain', 'in_flight');
  await page.getByRole('button', { name: `Cancel ${messages[0].id}`, exact: true }).click();
  await confirm('Cancel message');
  await said('is cancelled');
  assert.equal((await page.request.get(`${stage.url}/queues/plain/messages/${messages[0].id}`)).status(), 404);

  await page.getByRole('button', { name: 'Purge plain', exact: true }).click();
  await page.getByLabel('Messages that are').selectOption({ label: 'ready (1)' });
  await confirm('Purge messages');
  await said('Removed: 1.');
  assert.deepEqual([(await queue()).ready, (await queue()).delayed], [0, 1]);
  stage.assertClean();
});

test('a schedule shows its instants, is run, limited and deleted', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const confirm = (label) => page.getByRole('dialog').getByRole('button', { name: label, exact: true }).click();
  const said = (text) => shows(page.getByRole('status').filter({ hasText: text }));
  const schedule = () => api(stage.url, 'GET', '/queues/plain/schedules/plain%20nightly');

  await go(page, 'queues', 'plain');
  await page.locator('#view').getByRole('link', { name: 'Schedules', exact: true }).click();
  await rowHas(page, 'plain nightly', '30 2 * * *, Asia/Tokyo', 'not begun until then');
  await shows(row(page, 'plain nightly').locator('time[title$="2027-03-27 17:30:00 UTC"]'));
  await page.getByRole('link', { name: 'plain nightly' }).click();
  await shows(row(page, '2027-03-28 02:30:00 +09:00').locator('time[title$="2027-03-27 17:30:00 UTC"]'));
  await counts(page.getByRole('table', { name: 'Next instants' }).locator('tbody tr'), 5);
  await shows(page.locator('dd', { hasText: 'Asia/Tokyo, data' }));

  await page.getByRole('button', { name: 'Run now plain nightly', exact: true }).click();
  await said("'plain nightly' sent '");
  assert.equal((await schedule()).sent, 1);
  assert.equal((await schedule()).next_at_ms, Date.UTC(2027, 2, 27, 17, 30));
  await page.getByRole('button', { name: 'Run now plain nightly', exact: true }).click();
  await shows(page.getByRole('alert').filter({ hasText: 'is not done' }));

  await page.getByRole('button', { name: 'Set limit of plain nightly', exact: true }).click();
  await page.getByRole('spinbutton', { name: 'Messages' }).fill('2');
  await confirm('Save');
  await said('ends after 2 messages');
  assert.equal((await schedule()).limit, 2);
  await counts(page.getByRole('table', { name: 'Next instants' }).locator('tbody tr'), 2);

  await page.getByRole('button', { name: 'Delete plain nightly', exact: true }).click();
  await confirm('Delete schedule');
  await said('is deleted');
  await shows(page.getByText("There is no schedule 'plain nightly'."));
  await go(page, 'queues', 'plain', 'schedules');
  await shows(page.getByText('There are no schedules'));
  assert.deepEqual(stage.foreign, []);
  // Chromium itself reports the 409, and the 404 of the deleted resource.
  assert.deepEqual(
    stage.errors.filter((text) => !/40[49]/.test(text)),
    [],
  );
});

test('a limit is tried out, and forgotten', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await go(page, 'limits');
  for (const [label, value] of [
    ['Limit', '5'],
    ['Window', '10 min'],
    ['Burst', '3'],
    ['Tries', '8'],
    ['Tries / s', '50'],
  ])
    await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole('button', { name: 'Try it' }).click();
  await shows(page.getByText('3 allowed, 5 refused'));
  await shows(page.locator('figure', { hasText: 'Level' }).locator('canvas'));
  const { items } = await api(stage.url, 'GET', '/ratelimit/keys');
  assert.deepEqual(
    items.filter(({ key }) => key.startsWith('ui-trial')),
    [],
  );
  assert.deepEqual(stage.foreign, []);
  // Chromium itself reports each 429.
  assert.deepEqual(
    stage.errors.filter((text) => !text.includes('429')),
    [],
  );
});

test('a refusal is shown with the detail of the API', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await go(page, 'queues', 'plain', 'ready');
  const id = (await api(stage.url, 'GET', '/queues/plain/messages')).items[0].id;
  await page.getByRole('button', { name: `Delete ${id}`, exact: true }).click();
  await api(stage.url, 'DELETE', `/queues/plain/messages/${name(id)}`);
  const [answer] = await Promise.all([
    page.waitForResponse((one) => one.request().method() === 'DELETE'),
    page.getByRole('button', { name: 'Delete message' }).click(),
  ]);
  const problem = await answer.json();
  assert.equal(problem.status, 404);
  const told = await page.getByRole('alert').filter({ hasText: problem.detail }).innerText();
  assert.ok(told.includes(problem.request_id), told);
  assert.deepEqual(stage.foreign, []);
});

test('an action that was cut off may have been done', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await go(page, 'queues');
  await page.route(/\/queues\/plain$/, (route) =>
    route.request().method() === 'PATCH' ? route.abort('connectionreset') : route.continue(),
  );
  await page.getByRole('button', { name: 'Pause plain', exact: true }).click();
  const told = page.getByRole('alert').filter({ hasText: 'it is unknown whether this was done' });
  await shows(told);
  await page.waitForResponse(/\/queues\?/); // the next poll does not remove the alert
  await shows(row(page, 'plain').getByRole('button', { name: 'Pause plain' }));
  await shows(told);
  assert.deepEqual(stage.foreign, []);
});

test('a token is asked for', SLOW, async (t) => {
  const stage = await guarded(t, 'info:read locks:list');
  const page = await stage.visit('/ui#/locks');
  await give(page, 'wrong');
  await shows(page.getByText('The daemon does not know this token.'));
  await give(page, 'secret');
  await shows(page.getByText('No lock is held.'));
  await go(page);
  await shows(page.locator('.tiles dd.good'));
  await go(page, 'queues');
  await shows(page.getByRole('alert').filter({ hasText: 'queues:list' }));
  assert.deepEqual(await page.evaluate(() => Object.values(localStorage)), []);
});

test('a token without a scope shows what it may, and can be replaced', SLOW, async (t) => {
  const better = createHash('sha256').update('better').digest('hex');
  const stage = await guarded(t, `locks:list policies:list\n${better} info:read locks:list queues:list`);
  const page = await stage.visit('/ui');
  const notice = page.getByRole('status').filter({ hasText: "the token lacks the scope 'info:read'" });
  const another = page.getByRole('button', { name: 'Enter another token' });
  await give(page, 'secret');
  await shows(notice);
  await rowHas(page, 'Locks', 'may list it');
  await rowHas(page, 'Queues', 'lacks queues:list');
  await shows(page.getByText('It may list 2 of '));
  await page.getByRole('row', { name: 'Locks' }).getByRole('link').click();
  await shows(page.getByText('No lock is held.'));
  await another.click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await shows(notice);
  await another.click();
  await give(page, 'better');
  await notice.waitFor({ state: 'hidden' });
  await shows(page.getByText('No lock is held.'));
  await counts(another.locator('visible=true'), 0);
  await go(page, 'sets');
  await shows(page.getByRole('alert').filter({ hasText: 'sets:list' }));
  await page.getByText('What to do').click();
  await shows(page.getByRole('alert').filter({ hasText: 'send SIGHUP' }));
  await shows(another);
  await page.getByRole('button', { name: 'Change token' }).click();
  await give(page, 'secret');
  await shows(notice);
});

test('/ finds a queue, a lock, a policy and a page by name', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const search = page.getByRole('combobox', { name: /^Search/ });
  const option = (name) => page.getByRole('option', { name, exact: true });
  const title = (name) => shows(page.getByRole('heading', { name, level: 1, exact: true }));
  await page.getByRole('link', { name: 'Locks' }).waitFor();
  await page.keyboard.press('/');
  await search.fill('pla');
  await shows(option('plain queue'));
  await shows(option('plain lock'));
  await shows(option('pla lock of this name')); // free locks are in no list
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowDown');
  assert.equal(await search.getAttribute('aria-activedescendant'), 'finder-0');
  await page.keyboard.press('Enter');
  await title('plain');
  assert.match(page.url(), /#\/(queues|locks)\/plain$/);

  await page.keyboard.press('/');
  const limits = [];
  page.on('request', (request) => limits.push(Number(new URL(request.url()).searchParams.get('limit'))));
  await search.fill('PlaI');
  await shows(option('plain queue'));
  await shows(option('plain lock'));
  assert.ok(Math.max(...limits) <= 100, `it asks for ${limits} names, each with its state`);
  await search.fill('repli');
  await option('replies policy').click();
  await title('replies');
  await page.getByRole('button', { name: 'Search' }).click();
  await search.fill(HOSTILE);
  await shows(option(`${HOSTILE} queue`));
  await search.fill('leader');
  await shows(option('Leaderboards page'));
  await page.keyboard.press('Enter');
  await title('Leaderboards');
  await page.keyboard.press('/');
  await search.fill('no such thing');
  await shows(page.getByText("Nothing is named like 'no such thing'."));
  await page.keyboard.press('Escape');
  await search.waitFor({ state: 'hidden' });
  await go(page, 'queues');
  const filter = page.getByLabel('Filter queues by name');
  await filter.click();
  await page.keyboard.type('a/b'); // names may have slashes
  assert.equal(await filter.inputValue(), 'a/b');
  stage.assertClean();
});

test('a destructive dialog says how many', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const says = async (button, text) => {
    await page.getByRole('button', { name: button, exact: true }).first().click();
    await shows(page.getByRole('dialog').getByText(text));
    await page.getByRole('button', { name: 'Keep' }).click();
  };
  await api(stage.url, 'PUT', '/sets/plain/members/second');
  for (const [view, text] of [
    ['sets', 'It holds: 2 members.'],
    ['semaphores', 'It holds: 1 of 3 permits held.'],
    ['counters', 'It holds: 1 counter.'],
    ['feeds', 'It holds: 1 item.'],
    ['leaderboards', 'It holds: 2 members.'],
    ['geo', 'It holds: 2 members.'],
    ['visitors', 'About 3 visitors of the last 365 days'],
  ]) {
    await go(page, view);
    await row(page, 'plain').waitFor();
    await says('Delete plain', text);
  }
  await go(page, 'keys', 'set:{plain}');
  await says('Delete set:{plain}', 'It is a set of 2 elements.');
  await go(page, 'queues', 'plain');
  await says('Purge plain', 'It holds 4 messages.');
  await says('Delete queue plain', 'Its 4 messages, 1 schedule and its settings are removed');
  const purge = page.getByRole('button', { name: 'Purge plain', exact: true });
  const states = page.getByLabel('Messages that are');
  await purge.click();
  const offered = ['dead (1)', 'ready (2)', 'delayed (1)', 'in any state (4)'];
  assert.deepEqual(await states.locator('option').allInnerTexts(), offered);
  assert.equal(await states.inputValue(), 'dead');
  await page.getByRole('button', { name: 'Keep' }).click();
  await api(stage.url, 'POST', '/queues/plain/purge', { state: 'dead' });
  await page.getByRole('button', { name: /^dead 0/ }).waitFor();
  await purge.click();
  assert.equal(await states.inputValue(), ''); // live work must be chosen
  await page.getByRole('button', { name: 'Purge messages' }).click();
  assert.equal(await states.evaluate((select) => select.validity.valueMissing), true);
  await page.getByRole('button', { name: 'Keep' }).click();
  await api(stage.url, 'PATCH', '/queues/plain', { result_ms: 60_000 });
  await shows(page.locator('dd', { hasText: /^1\smin$/ }).first());
  await says('Delete queue plain', 'Its 3 messages, the results of acknowledged messages, 1 schedule and its settings');
  await go(page, 'limits');
  await says('Delete replies', 'Requests that name it are refused with 404');
  stage.assertClean();
});

test('a schedule is paused and resumed', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const said = (text) => shows(page.getByRole('status').filter({ hasText: text }));
  await api(stage.url, 'PUT', '/queues/timed/schedules/hourly', { cron: '@hourly', body: 1 });
  await api(stage.url, 'POST', '/queues/timed/schedules/hourly/run');
  await go(page, 'queues', 'timed');
  await shows(page.getByRole('heading', { name: 'Schedules' }));
  await page.getByRole('button', { name: 'Pause hourly', exact: true }).click();
  await page.getByLabel('For how long').fill('2 d');
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await said("'hourly' is paused, and sends again in 2 d");
  const { start_at_ms: start } = await api(stage.url, 'GET', '/queues/timed/schedules/hourly');
  assert.ok(Math.abs(start - Date.now() - 172_800_000) < 60_000);
  await page.getByRole('button', { name: /^(Resume|Start now) hourly$/ }).click();
  await said("'hourly' continues in");
  assert.equal((await api(stage.url, 'GET', '/queues/timed/schedules/hourly')).start_at_ms, null);
  stage.assertClean();
});

test('a schedule that is due in a paused queue says why', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await api(stage.url, 'PUT', '/queues/held/schedules/often', { every_ms: 1000, body: 1 });
  await api(stage.url, 'PATCH', '/queues/held', { paused: true });
  const late = (text) => shows(page.locator('.late', { hasText: text }));
  await go(page, 'queues', 'held', 'schedules');
  await late(/^due for 1\d\ss: the queue is paused$/);
  await go(page, 'queues', 'held', 'schedules', 'often');
  await late(/^due for \d\d\ss: the queue is paused$/);
  await go(page, 'queues', 'held');
  await late(/^due for \d\d\ss: the queue is paused$/);
  await shows(page.locator('.facts dd', { hasText: /^due for \d\d\ss$/ }));
  await go(page, 'queues');
  await late(/^due for \d\d\ss$/);
  await api(stage.url, 'PATCH', '/queues/held', { paused: false });
  await go(page, 'queues', 'held', 'schedules');
  await rowHas(page, 'often', /in\s\d+\sms/);
  await counts(page.locator('.late'), 0);
  stage.assertClean();
});

test('settings are shown exactly', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const backoff = { base_ms: 1900, max_ms: 61_001 };
  const rate = { limit: 3, window_ms: 1500 };
  await api(stage.url, 'PUT', '/queues/exact', { visibility_ms: 1500, result_ms: 90_061_000, backoff, rate });
  await api(stage.url, 'PUT', '/queues/exact/schedules/often', { every_ms: 1500, jitter_ms: 1001, body: 1 });
  await api(stage.url, 'PUT', '/ratelimit/policies/odd', { limit: 100, window_ms: 1500 });
  await api(stage.url, 'PUT', '/sales/odd', { stock: 1, hold_ms: 1500 });
  const value = (text) => shows(page.locator('.facts dd').filter({ hasText: text }));
  await go(page, 'queues', 'exact');
  await value(/^1\ss\s500\sms$/);
  await value(/^1\ss\s900\sms to 1\smin\s1\ss\s1\sms$/);
  await value(/^1\sd\s1\sh\s1\smin\s1\ss$/);
  await value(/^3 per 1\ss\s500\sms$/);
  await rowHas(page, 'often', /each 1\ss\s500\sms/);
  await go(page, 'queues', 'exact', 'schedules', 'often');
  await value(/^each 1\ss\s500\sms$/);
  await value(/^up to 1\ss\s1\sms$/);
  await go(page, 'limits');
  await rowHas(page, 'odd', /100 in 1\ss\s500\sms/);
  await go(page, 'sales', 'odd');
  await value(/^1\ss\s500\sms$/);
  stage.assertClean();
});

test('a key under a shadow policy is not shown as refused', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await api(stage.url, 'PUT', '/ratelimit/policies/watched', { limit: 1, window_ms: 600_000, shadow: true });
  for (let calls = 0; calls < 3; calls++)
    await api(stage.url, 'POST', '/ratelimit', { key: 'shady', policy: 'watched' });
  await go(page, 'limits');
  await rowHas(page, 'shady', 'allowed: shadow only, else refused for');
  await counts(row(page, 'shady').locator('.badge'), 0);
  await row(page, 'shady').getByRole('link').click();
  await shows(page.locator('dd', { hasText: 'is allowed: the policy is in shadow' }));
  stage.assertClean();
});

test('a key under a policy that is not listed is not shown as refused', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const policies = Array.from({ length: 500 }, (_, at) => `p${at}`);
  const put = (one, shadow) =>
    api(stage.url, 'PUT', `/ratelimit/policies/${one}`, { limit: 1, window_ms: 600_000, shadow });
  await Promise.all(policies.map((one) => put(one, false)));
  await put('watched', true);
  for (const policy of ['watched', 'p1'])
    for (let calls = 0; calls < 2; calls++)
      await fetch(`${stage.url}/ratelimit`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ key: `by ${policy}`, policy }),
      });
  const page = await stage.visit('/ui#/limits');
  await shows(page.getByText('Only 500 policies are listed; Search finds the others by name.'));
  await rowHas(page, 'by watched', 'unless it is a shadow');
  await counts(row(page, 'by watched').locator('.badge'), 0);
  await counts(row(page, 'by p1').locator('.badge'), 1);
  stage.assertClean();
});

test("the daemon's own records are hidden among keys until they are asked for", SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await fetch(`${stage.url}/counters/plain/increment`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'once' },
    body: '{"counters":{"likes":1}}',
  });
  await go(page, 'keys');
  await shows(row(page, 'counter:{plain}'));
  const own = page.locator('td.head').filter({ hasText: /^(idem|names):/ });
  await counts(own, 0);
  await page.getByLabel("The daemon's own records too").check();
  await shows(own.filter({ hasText: 'idem:' }).first());
  stage.assertClean();
});

test('a cancelled token dialog does not open again', SLOW, async (t) => {
  const stage = await guarded(t, 'info:read locks:list');
  const page = await stage.visit('/ui#/locks');
  const dialog = page.getByRole('dialog');
  const enter = page.getByRole('button', { name: 'Enter a token' });
  await shows(dialog);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await enter.click();
  await give(page, 'secret');
  await shows(page.getByText('No lock is held.'));
  await counts(enter, 0);

  await page.evaluate(() => sessionStorage.clear());
  await shows(dialog);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await shows(enter);
  for (let looks = 0; looks < 3; looks++) await page.waitForResponse((answer) => answer.status() === 401);
  assert.equal(await dialog.isVisible(), false);
  await enter.click();
  await give(page, 'secret');
  await enter.waitFor({ state: 'hidden' });
  assert.deepEqual(stage.foreign, []);
});

test('the token dialog has no timeout', SLOW, async (t) => {
  const stage = await guarded(t, 'info:read locks:list');
  const page = await stage.visit('/healthz');
  await page.addInitScript(() => {
    const running = [];
    AbortSignal.timeout = () => (running.push(new AbortController()), running.at(-1).signal);
    window.timeOut = () => running.forEach((one) => one.abort(new DOMException('It took too long.', 'TimeoutError')));
  });
  const unsure = [];
  page.on('request', (request) => request.url().endsWith('/healthz') && unsure.push(request.url()));
  await page.goto(`${stage.url}/ui#/locks`);
  await page.getByLabel('Token', { exact: true }).fill('secret');
  await page.evaluate(() => window.timeOut());
  await page.getByRole('button', { name: 'Use it' }).click();
  await shows(page.getByText('No lock is held.'));
  assert.deepEqual(unsure, []);
});

test('the daemon goes and comes back', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await go(page, 'locks');
  await rowHas(page, 'plain', 'exclusive');
  stage.daemon.process.kill('SIGKILL');
  const banner = page.getByText('patternd does not answer, trying again');
  await shows(banner);
  const asOf = page.getByText('What is shown is as of').locator('time');
  assert.match(await asOf.getAttribute('title'), /\d\d:\d\d:\d\d UTC$/);
  const again = await startDaemon('--listen', new URL(stage.url).host);
  t.after(() => again.stop());
  await api(again.url, 'POST', '/locks/new', { ttl_ms: 600_000 });
  await banner.waitFor({ state: 'hidden' });
  await rowHas(page, 'new', 'exclusive');
  assert.deepEqual(stage.foreign, []);
});

test('the keyboard is enough', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const press = (...keys) =>
    keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  const focused = () =>
    page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent);
  async function tabTo(text) {
    for (let steps = 0; (await focused()) !== text; steps++) {
      assert.ok(steps < 40, `no way to '${text}'`);
      await press('Tab');
    }
  }
  await page.getByRole('link', { name: 'Locks' }).waitFor();
  await press('Tab');
  assert.equal(await focused(), 'Skip to the content');
  await tabTo('Locks');
  await press('Enter');
  await rowHas(page, 'plain', 'exclusive');
  await tabTo('Release plain');
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none');
  await page.waitForResponse(/\/locks\?/); // another poll, which must not take the focus
  assert.equal(await focused(), 'Release plain');
  await press('Enter');
  await shows(page.getByRole('dialog'));
  assert.equal(await focused(), 'Keep');
  await press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  assert.equal(await focused(), 'Release plain');
  await press('Enter', 'Tab', 'Enter');
  await shows(page.getByRole('status').filter({ hasText: "'plain' is free." }));
  assert.equal((await api(stage.url, 'GET', '/locks/plain')).held, false);
  stage.assertClean();
});

test('a phone shows it without scrolling sideways', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await page.setViewportSize({ width: 360, height: 740 });
  const long = 'W'.repeat(200);
  await api(stage.url, 'POST', `/locks/${long}`, { ttl_ms: 600_000, owner: long });
  await api(stage.url, 'POST', `/queues/${long}/messages`, { id: long, body: long });
  for (const view of [
    [''],
    ['queues'],
    ['queues', long],
    ['locks'],
    ['locks', long],
    ['limits'],
    ['geo'],
    ['geo', 'plain'],
    ['visitors', 'plain'],
    ['leaderboards', 'plain'],
    ['sales'],
  ]) {
    await go(page, ...view);
    await page.locator('td.head, dd').first().waitFor();
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      `${view.join('/')} is too wide`,
    );
  }
  stage.assertClean();
});
