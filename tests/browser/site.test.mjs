// The site of the documentation (tools/site/build), opened from its folder: it can be read on a
// phone and in the dark, blocks of code can be copied, and its API page is /docs without a daemon.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { chromium } from 'playwright-core';

import { counts } from './data.mjs';

const BUILD = join(dirname(fileURLToPath(import.meta.url)), '../../tools/site/build');
const BROWSER = process.env.CHROMIUM ?? '/usr/bin/chromium';
const axeSource = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const errors = [];
let folder, site, browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patternd-site-'));
  site = join(folder, 'site');
  await promisify(execFile)(BUILD, [site]);
  browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox', '--disable-gpu'] });
});
after(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

async function tab(width, colorScheme = 'light') {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('request', (request) => /^https?:/.test(request.url()) && errors.push(request.url()));
  return page;
}

const addressOf = (name) => new URL(name, `${pathToFileURL(site)}/`).href;

const open = (page, name) => page.goto(addressOf(name), { waitUntil: 'domcontentloaded' });

test('no page scrolls sideways on a phone', { timeout: 300_000 }, async () => {
  const page = await tab(390);
  const names = (await readdir(site, { recursive: true })).filter((name) => name.endsWith('.html'));
  const wide = [];
  for (const name of names) {
    await open(page, name);
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (beyond > 0) wide.push(`${name}: ${beyond} px`);
  }
  assert.ok(names.length > 200, `${names.length} pages`);
  assert.deepEqual(wide, []);
  assert.deepEqual(errors, []);
});

test('axe finds nothing, light and dark', { timeout: 120_000 }, async () => {
  const axe = await readFile(axeSource, 'utf8');
  for (const colorScheme of ['light', 'dark'])
    for (const name of ['index.html', 'docs/operate.html', 'docs/locks.html', 'api/index.html']) {
      const page = await tab(1280, colorScheme);
      await open(page, name);
      if (name.startsWith('api')) await page.locator('.opblock-tag').first().waitFor();
      await page.evaluate(axe);
      const found = await page.evaluate(async () => {
        const { violations } = await globalThis.axe.run({ runOnly: ['wcag2a', 'wcag2aa'] });
        return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`);
      });
      assert.deepEqual(found, [], `${name}, ${colorScheme}`);
      const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(back === 'rgb(19, 23, 24)', colorScheme === 'dark', `${name}: ${back}`);
      await page.close();
    }
});

test('a block of code is copied by keyboard, without prompts and answers', { timeout: 60_000 }, async () => {
  const page = await tab(1280);
  await page.addInitScript(() => {
    navigator.clipboard.writeText = async (text) => {
      globalThis.copied = text;
    };
  });
  const copy = async (name, text) => {
    await open(page, name);
    const block = page.locator('.block', { hasText: text }).first();
    await block.locator('pre').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    return page.evaluate(() => globalThis.copied);
  };
  assert.match(await copy('docs/locks.html', 'tee lock.json'), /^curl .*\ntoken=.*\ncurl [^\n]*$/s);
  assert.match(await copy('docs/getting-started.html', 'cat >worker.sh'), /^cat >worker.sh <<'END'\n.*\nEND/s);
});

test('the API page is /docs without what needs a daemon', { timeout: 60_000 }, async () => {
  const page = await tab(1280);
  await open(page, 'api/index.html#/Queues/queue_redrive');
  await page.locator('.opblock.is-open .samples pre', { hasText: "'http://127.0.0.1:8379/queues" }).waitFor();
  await counts(page.getByRole('button', { name: 'Try it out' }), 0);
  await counts(page.getByRole('button', { name: 'Authorize' }), 0);
  await page.getByLabel('Search operations, fields and codes').fill('lock_held');
  await page.locator('.opblock [data-path="/locks/{name}"]').first().waitFor();
  await page.getByRole('region').getByRole('link', { name: 'lock_held' }).click();
  await page.waitForURL(/docs\/errors\.html#lock_held$/);
  await page.goBack();
  await page.getByRole('link', { name: 'Documentation' }).click();
  assert.equal(await page.title(), 'patternd');
  await page.getByRole('link', { name: 'API page', exact: true }).click();
  await page.locator('.opblock-tag').first().waitFor();
  assert.deepEqual(errors, []);
});
