// /ui in a browser whose clock is wrong: ages and due times are by the server's clock.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { api, begin, counts, go, row, rowHas, shows, SLOW } from './data.mjs';

for (const minutes of [-10, 10])
  test(`a browser whose clock is ${minutes} min off shows the server's times`, SLOW, async (t) => {
    const { stage, page } = await begin(t, '--ui=write');
    const schedule = () => api(stage.url, 'GET', '/queues/timed/schedules/soon');
    await api(stage.url, 'PUT', '/queues/timed/schedules/soon', { every_ms: 300_000, body: 1 });
    await page.addInitScript((ms) => {
      const Right = Date;
      window.Date = class extends Right {
        constructor(...args) {
          super(...(args.length ? args : [Right.now() + ms]));
        }
        static now() {
          return Right.now() + ms;
        }
      };
    }, minutes * 60_000);
    await page.reload();
    await go(page, 'locks');
    const heldFor = row(page, 'plain').locator('th, td').nth(5);
    await shows(heldFor.filter({ hasText: /^[1-9]\d*\xa0m?s$/ }));
    await go(page, 'queues', 'plain', 'delayed');
    await rowHas(page, 'plain later', 'in 59 min');
    await go(page, 'queues', 'timed', 'schedules');
    await rowHas(page, 'soon', /in\xa0[1-5]\xa0min/);
    await counts(page.locator('.late'), 0);
    await page.getByRole('button', { name: 'Pause soon', exact: true }).click();
    await page.getByLabel('For how long').fill('1 min');
    const before = Date.now();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await shows(page.getByRole('status').filter({ hasText: "'soon' is paused" }));
    const { start_at_ms: start } = await schedule();
    assert.ok(start > before + 57_000 && start < Date.now() + 63_000, `${start - before} ms`);
    stage.assertClean();
  });

test('a clock of Redis that is wrong is shown', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await page.route(/\/info$/, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    json.redis.nodes[0].clock_offset_ms = -7_200_000;
    await route.fulfill({ response, json });
  });
  await shows(page.getByText(/beside the daemon, Redis \(.*\) is 2\sh.* behind/));
  stage.assertClean();
});
