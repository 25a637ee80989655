// GET /docs: lists the operations, tries them on the running daemon, and sends no request
// elsewhere.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { LANGUAGES, exampleRequest } from '../../web/docs/samples.js';
import { counts } from './data.mjs';
import { open } from './stage.mjs';

/** Opens the row of an operation and sends it; answers with the status that is shown. */
async function tryIt(page, path) {
  const row = page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) }).first();
  await row.locator('.opblock-summary-control').click();
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
  await page.locator('.opblock').first().waitFor();
  await counts(page.locator('.opblock'), operations);
  await counts(page.locator('.authorization__btn'), 0); // no token is asked for
  await counts(page.locator('.info .renderedMarkdown p'), 1);
  await page.getByText('Rules for all operations').click();
  await page.getByText('Compatibility.').waitFor();
  assert.match(await tryIt(page, '/healthz'), /^200/);
  await page.getByRole('link', { name: 'Open the page of this daemon' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('link', { name: 'API reference' }).click();
  await page.locator('.opblock').first().waitFor();
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
  assert.deepEqual(stage.foreign, []);
  // Chromium itself reports each 401.
  assert.deepEqual(
    stage.errors.filter((text) => !text.includes('401')),
    [],
  );
});

const run = promisify(execFile);
const axeSource = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Opens the first operation of a path, and returns its row. */
async function unfold(page, path) {
  const row = page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) }).first();
  await row.locator('.opblock-summary-control').click();
  await row.locator('.samples pre').waitFor();
  return row;
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
  // The first one acquires; the others are answered with 409 until its lease ends.
  const first = (await run('sh', ['-c', `${shown.curl} -s`])).stdout;
  assert.ok(JSON.parse(first).fence > 0, first);
  await assert.rejects(run('python3', ['-c', shown.Python]), /HTTP Error 409/);
  assert.match((await run('node', ['--input-type=module', '-e', shown.JavaScript])).stdout, /^409 .*lock_held/s);
  assert.match(shown.Go, /http\.NewRequest\("POST", "http.*\/locks\/.*strings\.NewReader\(`\{/s);
  // The language chosen holds for the next operation.
  const other = await unfold(page, '/queues/{name}');
  assert.match(await other.locator('.samples pre').innerText(), /^package main/);
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
    await page.locator('.opblock').first().waitFor();
    assert.match(await tryIt(page, '/queues/{name}/messages/{id}'), /^404/);
    const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(back, colorScheme === 'dark' ? 'rgb(19, 23, 24)' : 'rgb(246, 247, 247)');
    assert.equal(await page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0);
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
