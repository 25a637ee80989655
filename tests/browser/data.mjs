// Shared by the tests of /ui: a daemon that has resources of every kind, and functions that find
// them in the page.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { open } from './stage.mjs';

export const HOSTILE = '<img src=x onerror=alert(1)>';
export const SLOW = { timeout: 120_000 };
export const name = encodeURIComponent;

/** Sends a request to the daemon; an error response fails the test. */
export async function api(url, method, path, body) {
  const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text && JSON.parse(text);
}

/** Creates resources of every kind, each under a plain name and under a hostile one. */
export async function fill(url) {
  const now = Date.now();
  for (const one of ['plain', HOSTILE]) {
    await api(url, 'POST', `/locks/${name(one)}`, { ttl_ms: 600_000, owner: one, metadata: { job: one } });
    await api(url, 'POST', `/queues/${name(one)}/messages`, {
      messages: [{ id: `${one} ready`, body: { said: one } }, { body: 2 }, { body: 3 }],
    });
    await api(url, 'POST', `/queues/${name(one)}/messages`, {
      messages: [{ id: `${one} later`, body: one, delay_ms: 3_600_000 }],
    });
    const {
      messages: [taken],
    } = await api(url, 'POST', `/queues/${name(one)}/receive`, { limit: 1, worker: one });
    await api(url, 'POST', `/queues/${name(one)}/deliveries/${taken.receipt}/reject`, { dead: true, reason: one });
    await api(url, 'PUT', `/queues/${name(one)}/schedules/${name(`${one} nightly`)}`, {
      cron: '30 2 * * *',
      time_zone: 'Asia/Tokyo',
      start_at_ms: 1806102000000,
      body: { said: one },
    });
    await api(url, 'POST', '/ratelimit', { key: one, limit: 10, window_ms: 600_000 });
    await api(url, 'PUT', `/geo/${name(one)}/members/${name(one)}`, { longitude: 13.4, latitude: 52.5 });
    await api(url, 'PUT', `/geo/${name(one)}/members/far`, { longitude: 14.4, latitude: 52.5 });
    await api(url, 'POST', `/uv/${name(one)}`, { visitors: ['a', 'b', 'c'] });
    await api(url, 'POST', `/pv/${name(one)}`, { by: 17 });
    await api(url, 'PUT', `/leaderboards/${name(one)}`, { dimensions: ['gold'] });
    await api(url, 'PUT', `/leaderboards/${name(one)}/members/${name(one)}`, { scores: { gold: 5 } });
    await api(url, 'PUT', `/leaderboards/${name(one)}/members/second`, { scores: { gold: 4 } });
    await api(url, 'PUT', `/sales/${name(one)}`, { opens_at_ms: now - 1000, stock: 50, per_user: 2, hold_ms: 600_000 });
    await api(url, 'POST', `/sales/${name(one)}/claims`, { user: one, quantity: 2 });
    await api(url, 'POST', `/semaphores/${name(one)}/permits`, { limit: 3, ttl_ms: 600_000, owner: one });
    await api(url, 'POST', `/fences/${name(one)}`, { fence: 17 });
    await api(url, 'POST', `/counters/${name(one)}/increment`, { counters: { [one]: 41 } });
    await api(url, 'PUT', `/checkins/${name(one)}/days/${new Date(now).toISOString().slice(0, 10)}`);
    await api(url, 'PUT', `/bloom/${name(one)}`, { capacity: 1000, error_rate: 0.01 });
    await api(url, 'PUT', `/bitmaps/${name(one)}/bits/9`, { value: 1 });
    await api(url, 'PUT', `/cache/${name(one)}`, { value: { said: one }, ttl_ms: 600_000 });
    await api(url, 'POST', `/feeds/${name(one)}/items`, { items: [{ said: one }] });
    await api(url, 'PUT', `/sets/${name(one)}/members/${name(one)}`);
  }
  await api(url, 'PUT', '/ratelimit/policies/replies', { limit: 30, window_ms: 60_000, burst: 15 });
}

/** Opens /ui of a daemon that has these options and resources of every kind. */
export async function begin(t, ...options) {
  const stage = await open(...options);
  t.after(() => stage.close());
  await fill(stage.url);
  return { stage, page: await stage.visit('/ui') };
}

export async function go(page, ...parts) {
  await page.evaluate(
    (hash) => {
      location.hash = hash;
    },
    `#/${parts.map(name).join('/')}`,
  );
}

export const row = (page, text) =>
  page
    .getByRole('row')
    .filter({ has: page.getByRole('cell', { name: text, exact: true }) })
    .first();
export const shows = (locator) => locator.waitFor({ state: 'visible' });

/** Waits until a row contains all of these texts, and returns its text. */
export async function rowHas(page, text, ...wanted) {
  for (const one of wanted) await shows(row(page, text).filter({ hasText: one }));
}

/** Waits until the locator finds this many elements: a page does not draw all of them at once. */
export async function counts(locator, wanted) {
  for (const end = Date.now() + 10_000; (await locator.count()) !== wanted; await sleep(20))
    assert.ok(Date.now() < end, `${locator} finds ${await locator.count()}, not ${wanted}`);
}

/** Returns the findings of axe in the page that last: it may still be drawing. */
export async function faults(page) {
  await page.evaluate(await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8'));
  const look = () =>
    page.evaluate(async () => {
      const { violations, passes } = await window.axe.run();
      if (passes.length < 10) return ['axe has checked nothing'];
      return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
    });
  let found = await look();
  for (let left = 3; found.length && left > 0; left--) {
    await sleep(300);
    found = await look();
  }
  return found;
}

/** Starts a daemon with one token, 'secret', which has these scopes. */
export async function guarded(t, rights) {
  const folder = await mkdtemp(join(tmpdir(), 'patternd-tokens-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'tokens');
  await writeFile(file, `${createHash('sha256').update('secret').digest('hex')} ${rights} # reader\n`);
  const stage = await open('--tokens', file);
  t.after(() => stage.close());
  return stage;
}

export async function give(page, token) {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Use it' }).click();
}

/**
 * Returns the faults of the layout: words that are on two lines, tables that are cut, and columns
 * of numbers that are not right-aligned with their heading.
 */
export const misshapen = (page) =>
  page.evaluate(() => {
    const found = [];
    const LONGEST = 24; // a longer word may have to break
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const box = (node, from = 0, to = node.length ?? node.childNodes.length) => {
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      return [...range.getClientRects()].filter(({ width }) => width > 0);
    };
    for (let node = texts.nextNode(); node; node = texts.nextNode())
      for (const { 0: word, index } of node.data.matchAll(/[\p{L}\p{N}]+(?:[.,]\p{N}+|\u00a0[\p{L}\p{N}]+)*/gu)) {
        const tops = new Set(box(node, index, index + word.length).map(({ top }) => Math.round(top)));
        if (word.length <= LONGEST && tops.size > 1) found.push(`'${word}' is on ${tops.size} lines`);
      }
    for (const one of document.querySelectorAll('.flush'))
      if (one.scrollWidth > one.clientWidth + 1)
        found.push(`${one.querySelector('table')?.ariaLabel} is cut: ${one.scrollWidth} in ${one.clientWidth}`);
    if (innerWidth > 736)
      for (const table of document.querySelectorAll('table'))
        for (const cell of table.tBodies[0].rows[0]?.querySelectorAll('td.number') ?? []) {
          const heading = table.tHead.rows[0].cells[cell.cellIndex];
          const [head, number] = [heading, cell].map((one) => box(one).map(({ right }) => Math.round(right)));
          if (number.length && Math.abs(Math.max(...head) - Math.max(...number)) > 1)
            found.push(`${heading.innerText} ends at ${Math.max(...head)}, its numbers at ${Math.max(...number)}`);
        }
    return found;
  });
