// GET /docs: lists the operations, tries them on the running daemon, and asks nobody else.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

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
  assert.equal(await page.locator('.opblock').count(), operations);
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
