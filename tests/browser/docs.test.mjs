// GET /docs: lists the operations, tries them on the running daemon, and sends no request
// elsewhere.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { LANGUAGES, exampleRequest } from '../../web/docs/samples.js';
import { counts } from './data.mjs';
import { open } from './stage.mjs';

const rowOf = (page, path) => page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) }).first();

/** Finds an operation by its path, and opens it. */
async function unfold(page, path) {
  await page.getByLabel('Search operations, fields and codes').fill(path);
  const row = rowOf(page, path);
  await row.locator('.opblock-summary-control').click();
  await row.locator('.samples pre').waitFor();
  return row;
}

/** Opens the row of an operation and sends its request; returns the status that the page shows. */
async function tryIt(page, path) {
  const row = await unfold(page, path);
  await row.getByRole('button', { name: 'Try it out' }).click();
  await row.getByRole('button', { name: 'Execute' }).click();
  return row.locator('.live-responses-table tbody .response-col_status').first().innerText();
}

test('every operation is there, and can be tried', { timeout: 180_000 }, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const contract = await (await fetch(`${stage.url}/openapi.json`)).json();
  const operations = Object.values(contract.paths).reduce(
    (n, item) => n + ['get', 'put', 'post', 'patch', 'delete'].filter((method) => item[method]).length,
    0,
  );

  const page = await stage.visit('/docs');
  const filter = page.getByLabel('Search operations, fields and codes');
  await filter.fill('/');
  await counts(page.locator('.opblock'), operations);
  await counts(page.locator('.list li li'), operations);
  await filter.fill('');
  await counts(page.locator('.authorization__btn'), 0); // no token is asked for
  await counts(page.locator('.info .renderedMarkdown p'), 1);
  // A line that begins with "200." would be shown as a list.
  const items = Object.values(contract.paths).flatMap(Object.values);
  const texts = items.map((one) => one.description ?? '');
  assert.deepEqual(
    texts.filter((text) => /^\d+[.)](\s|$)/m.test(text)),
    [],
  );
  await page.getByText('Rules for all operations').click();
  await page.getByText('Compatibility.').waitFor();
  assert.match(await tryIt(page, '/healthz'), /^200/);
  await page.getByRole('link', { name: 'Open the page of this daemon' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('link', { name: 'API page' }).click();
  await page.locator('.opblock-tag').first().waitFor();
  stage.assertClean();
});

test('where tokens are asked for, the page asks for one', { timeout: 180_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'patternd-tokens-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'tokens');
  await writeFile(file, `${createHash('sha256').update('secret').digest('hex')} info:read # reader\n`);
  const stage = await open('--tokens', file);
  t.after(() => stage.close());

  const page = await stage.visit('/docs');
  const token = page.getByLabel('This daemon asks for a token:');
  await token.fill('wrong');
  await page.getByRole('button', { name: 'Read the API' }).click();
  await page.getByText('This token is not known here.').waitFor();
  await token.fill('secret');
  await page.getByRole('button', { name: 'Read the API' }).click();
  assert.match(await tryIt(page, '/info'), /^200/);
  const operation = rowOf(page, '/info');
  await operation.locator('.problems summary').last().click();
  const [answer] = await Promise.all([
    page.waitForResponse(/\/problems\/unauthorized$/),
    operation.getByRole('link', { name: 'unauthorized' }).click(),
  ]);
  assert.equal(answer.status(), 200); // a browser that follows a link sends no token
  await page.getByText('"code":"unauthorized"').waitFor();
  assert.deepEqual(stage.foreign, []);
  // Chromium itself reports each 401.
  assert.deepEqual(
    stage.errors.filter((text) => !text.includes('401')),
    [],
  );
});

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const run = promisify(execFile);
const axeSource = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/**
 * Returns a function that runs a program with the Python or JavaScript client and returns its
 * output.
 */
async function clients(t) {
  const folder = await mkdtemp(join(tmpdir(), 'patternd-clients-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'node_modules'));
  await symlink(join(ROOT, 'clients/javascript'), join(folder, 'node_modules/patternd'));
  const env = { ...process.env, PYTHONPATH: join(ROOT, 'clients/python'), PYTHONDONTWRITEBYTECODE: '1' };
  const said = async (...command) => (await run(...command, { cwd: folder, env, timeout: 60_000 })).stdout;
  return {
    python: (source) => said('python3', ['-c', source]),
    node: (source) => said('node', ['--input-type=module', '-e', source]),
  };
}

test('samples are shown before anything is sent, and work', { timeout: 180_000 }, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const page = await stage.visit('/docs');
  const row = await unfold(page, '/locks/{name}');
  const shown = {};
  for (const language of Object.keys(LANGUAGES)) {
    await row.getByRole('button', { name: language, exact: true }).click();
    shown[language] = await row.locator('.samples pre').innerText();
  }
  // The samples of the clients acquire and release the lock. Then curl acquires it, and they find
  // it held.
  const { python, node } = await clients(t);
  assert.match(await python(shown.Python), /fencing token \d+/);
  assert.match(await node(shown.JavaScript), /fencing token \d+/);
  const first = (await run('sh', ['-c', `${shown.curl} -s`])).stdout;
  assert.ok(JSON.parse(first).fence > 0, first);
  await assert.rejects(python(shown.Python), /holds|held/);
  await assert.rejects(node(shown.JavaScript), /LockHeld/);
  assert.match(shown.Go, /http\.NewRequest\("POST", "http.*\/locks\/.*strings\.NewReader\(`\{/s);
  // The language chosen holds for the next operation.
  const other = await unfold(page, '/queues/{name}');
  assert.match(await other.locator('.samples pre').innerText(), /^package main/);
  stage.assertClean();
});

test('samples use the calls that the clients have', { timeout: 180_000 }, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const spec = await (await fetch(`${stage.url}/openapi.json`)).json();
  const { python, node } = await clients(t);
  const sample = (language, path, method) =>
    LANGUAGES[language](exampleRequest(spec, stage.url, path, method, false));
  for (const [language, start] of [
    ['Python', python],
    ['JavaScript', node],
  ]) {
    assert.match(await start(sample(language, '/ratelimit', 'post')), /^allowed/);
    assert.match(await start(sample(language, '/counters/{name}/increment', 'post')), /counters/);
    assert.match(await start(sample(language, '/topics/{name}', 'post')), /name/);
    assert.match(await start(sample(language, '/queues/{name}/messages', 'post')), /messages|id/);
    assert.match(sample(language, '/queues/{name}/receive', 'post'), /\.work\(/);
    assert.match(sample(language, '/topics/stream', 'get'), /c\.listen\(/);
  }
  const withToken = exampleRequest(spec, stage.url, '/locks/{name}', 'post', true);
  assert.match(LANGUAGES.Python(withToken), /^import os\n[^]*token=os\.environ\["PATTERND_TOKEN"\]/);
  assert.match(LANGUAGES.JavaScript(withToken), /token: process\.env\.PATTERND_TOKEN/);
});

test('the search finds operations by their names, fields and codes', { timeout: 180_000 }, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const page = await stage.visit('/docs');
  const filter = page.getByLabel('Search operations, fields and codes');
  const finds = async (phrase, ...paths) => {
    await filter.fill(phrase);
    for (const path of paths) await page.locator(`.opblock [data-path="${path}"]`).first().waitFor();
    await page.locator('.opblock [data-path="/healthz"]').waitFor({ state: 'detached' });
  };
  await finds('redrive', '/queues/{name}/redrive');
  await finds('oldest_ready_ms', '/queues', '/queues/{name}');
  await counts(page.locator('.opblock [data-path="/locks"]'), 0);
  await finds('Lock_Held', '/locks/{name}');
  await finds('schedule delete', '/queues/{name}/schedules/{id}');
  await filter.fill("zz'<b>");
  await page.getByText("Nothing matches 'zz'<b>'.", { exact: true }).waitFor();
  await counts(page.locator('.opblock'), 0);
  await counts(page.getByText('No operations defined'), 0);
  const row = await unfold(page, '/locks/{name}');
  await row.getByText('Problems: reserved_name').click();
  await row.getByText('Another client holds the lock').first().waitFor();
  const link = row.getByRole('link', { name: 'lock_held', exact: true });
  const answer = await fetch(new URL(await link.getAttribute('href'), page.url()));
  assert.equal((await answer.json()).code, 'lock_held');
  stage.assertClean();
});

test('the search finds each code of a problem', { timeout: 180_000 }, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const kinds = [];
  for (let cursor = ''; cursor !== null; ) {
    const answer = await (await fetch(`${stage.url}/problems?limit=100${cursor && `&cursor=${cursor}`}`)).json();
    kinds.push(...answer.items);
    cursor = answer.next_cursor;
  }
  assert.ok(kinds.length > 80, `${kinds.length} codes`);
  const page = await stage.visit('/docs');
  const found = page.getByRole('region', { name: 'Problems that match' });
  const filter = page.getByLabel('Search operations, fields and codes');
  for (const { code, title } of kinds) {
    await filter.fill(code);
    const first = found.locator('li').first().filter({ hasText: title });
    const link = first.getByRole('link', { name: code, exact: true });
    assert.equal(await link.getAttribute('href'), `problems/${code}`);
  }
  await filter.fill('Redis unavailable 503');
  await counts(found.locator('li'), 1);
  const { help } = kinds.find(({ code }) => code === 'redis_unavailable');
  await found.locator('li', { hasText: help.replaceAll('`', '') }).waitFor();
  await found.getByRole('link', { name: 'redis_unavailable' }).click();
  await page.getByText('"code":"redis_unavailable"').waitFor();
  stage.assertClean();
});

/** Waits until the page is scrolled to a row. */
async function scrolledTo(page, row) {
  const isAtTop = (element) => Math.abs(element.getBoundingClientRect().top) < innerHeight / 2;
  await page.waitForFunction(isAtTop, await row.elementHandle());
}

test('an address opens its operation, and is that of the open one', { timeout: 180_000 }, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const folded = await stage.visit('/docs');
  await folded.locator('.opblock-tag').first().waitFor();
  await counts(folded.locator('.opblock'), 0);

  const page = await stage.visit('/docs#/Queues/queue_redrive');
  await page.setViewportSize({ width: 1440, height: 900 });
  const redrive = rowOf(page, '/queues/{name}/redrive');
  await redrive.locator('.samples').waitFor();
  await scrolledTo(page, redrive);
  await page.getByRole('navigation').getByRole('link', { name: 'Rate limits' }).click();
  await page.waitForURL(/#\/Rate%20limits$/);
  const take = rowOf(page, '/ratelimit');
  await take.locator('.opblock-summary-control').click();
  await page.waitForURL(/#\/Rate%20limits\/ratelimit_take$/);
  await page.getByRole('navigation').getByRole('link', { name: 'Redrive dead letters' }).click();
  await page.waitForURL(/#\/Queues\/queue_redrive$/);
  await scrolledTo(page, redrive);
  await page.goBack();
  await page.waitForURL(/#\/Rate%20limits\/ratelimit_take$/);
  await scrolledTo(page, take);
  await page.goBack();
  await page.goBack();
  await page.waitForURL(/#\/Queues\/queue_redrive$/);
  stage.assertClean();
});

test('each try is a request of its own', { timeout: 180_000 }, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const page = await stage.visit('/docs');
  const row = await unfold(page, '/counters/{name}/increment');
  await row.getByRole('button', { name: 'Try it out' }).click();
  const execute = async () => {
    const [answer] = await Promise.all([
      page.waitForResponse(/\/increment$/),
      row.getByRole('button', { name: 'Execute' }).click(),
    ]);
    assert.equal(answer.status(), 200);
    assert.equal(await answer.headerValue('Idempotent-Replayed'), null);
    const { 'idempotency-key': key, 'x-request-id': id } = await answer.request().allHeaders();
    assert.equal(id, undefined);
    return key;
  };
  const keys = [await execute(), await execute()];
  assert.match(keys[0], /^[0-9a-f]{32}$/);
  assert.notEqual(keys[0], keys[1]);
  await row.locator('tr[data-param-name="Idempotency-Key"] input').fill('mine');
  assert.equal(await execute(), 'mine');
  assert.equal(await tryIt(page, '/healthz').then((status) => status.slice(0, 3)), '200');
  stage.assertClean();
});

test('a sample is made for every operation, and never holds a token', { timeout: 60_000 }, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const spec = await (await fetch(`${stage.url}/openapi.json`)).json();
  const programs = [];
  for (const [path, item] of Object.entries(spec.paths))
    for (const method of Object.keys(item).filter((m) => ['get', 'put', 'post', 'patch', 'delete'].includes(m))) {
      const request = exampleRequest(spec, stage.url, path, method, true);
      assert.doesNotMatch(request.url, /[{}]|undefined/, `${method} ${path}`);
      assert.equal('Authorization' in request.headers, item[method].security?.length !== 0, `${method} ${path}`);
      programs.push(LANGUAGES.Python(request));
    }
  const check = 'import json, sys\nfor source in json.load(open(sys.argv[1])): compile(source, "sample", "exec")';
  const folder = await mkdtemp(join(tmpdir(), 'patternd-samples-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'samples.json'), JSON.stringify(programs));
  await run('python3', ['-c', check, join(folder, 'samples.json')]);
});

test('light and dark, wide and narrow: axe finds nothing, nothing overflows', { timeout: 300_000 }, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const axe = await readFile(axeSource, 'utf8');
  for (const [colorScheme, width] of [
    ['light', 390],
    ['dark', 1280],
  ]) {
    const page = await stage.visit('/docs');
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    assert.match(await tryIt(page, '/queues/{name}/messages/{id}'), /^404/);
    const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(back, colorScheme === 'dark' ? 'rgb(19, 23, 24)' : 'rgb(246, 247, 247)');
    assert.equal(await page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0);
    const { width: searchWidth } = await page.locator('.operation-filter-input').boundingBox();
    assert.ok(searchWidth > 0.9 * Math.min(width, 1280) - 60, `the search is ${searchWidth} wide`);
    await page.evaluate(axe);
    const found = await page.evaluate(async () =>
      (await globalThis.axe.run()).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`),
    );
    assert.deepEqual(found, [], `${colorScheme}, ${width} px`);
    await page.close();
  }
  // Chromium itself reports the 404.
  assert.deepEqual(
    stage.errors.filter((text) => !text.includes('404')),
    [],
  );
});
