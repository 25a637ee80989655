// GET /ui: the targets of push. One target answers, one is away, and one is busy.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { api, counts, faults, give, go, guarded, HOSTILE, misshapen, name, row, rowHas, shows, SLOW } from './data.mjs';
import { open } from './stage.mjs';

/**
 * Starts a program that answers each request with this status and these headers. Returns its
 * address.
 */
async function program(t, status, headers = {}) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status, headers).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}/jobs`;
}

/** Writes the file of --push. */
async function file(t, targets) {
  const folder = await mkdtemp(join(tmpdir(), 'patternd-push-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'push.json'), JSON.stringify(targets));
  return join(folder, 'push.json');
}

const send = (url, queue) => api(url, 'POST', `/queues/${name(queue)}/messages`, { body: 1 });
const tile = (page, title) =>
  page.locator('.attention > div', { has: page.locator('dt', { hasText: new RegExp(`^${title}$`) }) });

test('targets are listed, with why one is not called', SLOW, async (t) => {
  const away = 'http://127.0.0.1:9/jobs';
  const targets = {
    mails: { url: await program(t, 204), concurrency: 3 },
    [HOSTILE]: { url: await program(t, 422, { 'Patternd-Dead': 'no such%20<b>customer' }) },
    away: { url: away },
    busy: { url: await program(t, 429, { 'Retry-After': '600' }) },
  };
  const stage = await open('--push', await file(t, targets));
  t.after(() => stage.close());
  for (const queue of Object.keys(targets)) await send(stage.url, queue);
  const page = await stage.visit('/ui#/push');
  await rowHas(page, 'mails', 'on', '0 of 2', targets.mails.url);
  await rowHas(page, HOSTILE, 'no such%20<b>customer');
  await rowHas(page, 'away', 'not reached', 'called again', away);
  const again = row(page, 'away').locator('time', { hasText: 'called again' });
  assert.match(await again.getAttribute('title'), /UTC$/);
  const failed = row(page, 'away').locator('td').nth(6);
  await shows(failed.filter({ hasText: /^[1-9]/ })); // every attempt failed
  await rowHas(page, 'busy', 'busy', 'called again in 9 min', 'HTTP 429');
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [390, 'dark'],
  ]) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await faults(page), []);
    assert.deepEqual(await misshapen(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it is too wide');
  }
  await page.getByLabel('Filter targets by queue').fill('ma');
  await row(page, 'away').waitFor({ state: 'detached' });
  await row(page, 'mails').getByRole('link', { name: 'mails' }).click();
  await shows(page.locator('dd', { hasText: '0 of 2 that are allowed' }));
  await shows(page.locator('dd', { hasText: /^30\s+s$/ }));
  await counts(page.locator('#view button:visible'), 0); // the page changes nothing
  await page.getByRole('link', { name: 'The queue' }).click();
  await shows(page.getByRole('heading', { name: 'Settings' }));
  await go(page, 'push', 'absent');
  await shows(page.getByText("No target has the queue 'absent'."));
  await go(page, '');
  await shows(tile(page, 'Programs not called').filter({ hasText: '2' }));
  await page.getByRole('button', { name: '2 programs' }).click();
  const finding = page.locator('.findings li.part');
  await shows(finding.filter({ hasText: 'away' }).getByText(/^called again /));
  assert.equal(await finding.getByRole('link', { name: 'away' }).getAttribute('href'), '#/push/away');
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const [all, last] = await Promise.all([
      page.locator('.attention').boundingBox(),
      page.locator('.attention > :last-child').boundingBox(),
    ]);
    const rest = all.x + all.width - last.x - last.width;
    assert.ok(Math.abs(rest) < 1, `the last row is not full at ${width}`);
  }
  stage.assertClean();
});

test('the queue of a program that fails is paused from the page of the target', SLOW, async (t) => {
  const targets = { mails: { url: await program(t, 500) } };
  const stage = await open('--ui=write', '--push', await file(t, targets));
  t.after(() => stage.close());
  await send(stage.url, 'mails');
  const page = await stage.visit('/ui#/push/mails');
  await page.getByRole('button', { name: 'Pause mails' }).click();
  await shows(page.getByRole('button', { name: 'Resume mails' }));
  assert.equal((await api(stage.url, 'GET', '/queues/mails')).settings.paused, true);
  await page.getByRole('button', { name: 'Resume mails' }).click();
  await shows(page.getByRole('button', { name: 'Pause mails' }));
  assert.equal((await api(stage.url, 'GET', '/queues/mails')).settings.paused, false);
  stage.assertClean();
});

test('a daemon without targets explains where they come from', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const page = await stage.visit('/ui#/push');
  await shows(page.getByText('This daemon pushes to no program.'));
  await counts(page.locator('#view table:visible, #view input:visible'), 0);
  await go(page, '');
  await shows(tile(page, 'Dead letters'));
  await counts(tile(page, 'Programs not called'), 0);
  stage.assertClean();
});

test('targets need info:read, as the page does', SLOW, async (t) => {
  const stage = await guarded(t, 'queues:*');
  const page = await stage.visit('/ui#/push');
  await give(page, 'secret');
  await shows(page.getByRole('alert').filter({ hasText: "the token lacks the scope 'info:read'" }));
  await counts(page.locator('#view th:visible, #view button:visible'), 0);
});
