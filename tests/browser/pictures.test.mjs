// The pictures of docs/, in both colour schemes: no text leaves the picture, touches another text
// or is crossed by a line. tools/lint/pictures.py computes the contrast.
//
// If PICTURES names a folder, each picture is also written there as a PNG file.
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

const DOCS = join(dirname(fileURLToPath(import.meta.url)), '../../docs');
const BROWSER = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** Runs in the page, and returns the faults of its picture. */
function faults() {
  const MARGIN = 4, // between a text and the edge of the picture
    STEP = 2, // px between two points of a line
    INSIDE = 1; // a text's box is a little larger than its letters
  const svg = document.querySelector('svg');
  const { width, height } = svg.viewBox.baseVal;
  const texts = [...svg.querySelectorAll('text')].map((text) => {
    const { x, y, width, height } = text.getBBox();
    return { name: text.textContent, left: x, top: y, right: x + width, bottom: y + height };
  });
  const touches = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const covers = (t, p) =>
    p.x > t.left + INSIDE && p.x < t.right - INSIDE && p.y > t.top + INSIDE && p.y < t.bottom - INSIDE;
  const found = [];
  texts.forEach((text, at) => {
    if (text.left < MARGIN || text.top < MARGIN || text.right > width - MARGIN || text.bottom > height - MARGIN)
      found.push(`'${text.name}' leaves the picture`);
    for (const other of texts.slice(at + 1))
      if (touches(text, other)) found.push(`'${text.name}' touches '${other.name}'`);
  });
  for (const shape of svg.querySelectorAll(':is(path, rect, circle):not(defs *)')) {
    const length = shape.getTotalLength();
    const points = Array.from({ length: Math.ceil(length / STEP) + 1 }, (_, i) =>
      shape.getPointAtLength(Math.min(i * STEP, length)),
    );
    for (const text of texts)
      if (points.some((point) => covers(text, point)))
        found.push(`'${text.name}' is crossed by ${shape.getAttribute('d') ?? shape.tagName}`);
  }
  return found;
}

test('texts of pictures are apart from each other and from lines', { timeout: 120_000 }, async (t) => {
  const browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox', '--disable-gpu'] });
  t.after(() => browser.close());
  const pictures = (await readdir(DOCS)).filter((name) => name.endsWith('.svg'));
  assert.ok(pictures.length > 0);
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 900, height: 420 } });
    for (const name of pictures) {
      await page.setContent(await readFile(join(DOCS, name), 'utf8'));
      assert.deepEqual(await page.evaluate(faults), [], name);
      const fill = await page.evaluate(() => getComputedStyle(document.querySelector('.page')).fill);
      assert.equal(fill, colorScheme === 'dark' ? 'rgb(20, 25, 29)' : 'rgb(255, 255, 255)', name);
      if (process.env.PICTURES)
        await page
          .locator('svg')
          .screenshot({ path: join(process.env.PICTURES, `${name}.${colorScheme}.png`) });
    }
    await page.close();
  }
});
