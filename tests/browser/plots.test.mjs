// The plots of /ui are freed when their page closes.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { begin, go, shows, SLOW } from './data.mjs';

const VISITS = 20;
const MOST = 8; // of one page, which the browser may keep for a while

test('a page that closes frees its figures', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await page.addInitScript(() => {
    const made = [];
    const create = document.createElement;
    document.createElement = function (tag, ...rest) {
      const node = create.call(this, tag, ...rest);
      if (tag === 'canvas' || tag === 'figure') made.push(new WeakRef(node));
      return node;
    };
    window.parts = () => ({ made: made.length, live: made.filter((one) => one.deref()).length });
  });
  await page.reload();
  const views = [[''], ['queues', 'plain'], ['visitors', 'plain']];
  for (let visits = 0; visits < VISITS; visits++)
    for (const view of views) {
      await go(page, ...view);
      await shows(page.locator('figure canvas').first());
    }
  await go(page, 'sets');
  await page.locator('td.head').first().waitFor();
  const devtools = await page.context().newCDPSession(page);
  let found;
  for (let tries = 0; tries < 20 && !(found?.live <= MOST); tries++) {
    await devtools.send('HeapProfiler.collectGarbage');
    found = await page.evaluate(() => window.parts());
  }
  assert.ok(found.made >= VISITS * views.length, `${found.made} were made`);
  assert.ok(found.live <= MOST, `${found.live} of ${found.made} figures and canvases are alive`);
  stage.assertClean();
});
