// /ui of a daemon that keeps its locks on a quorum: they have no list and no history.
import { test } from 'node:test';

import { api, counts, go, rowHas, shows, SLOW } from './data.mjs';
import { open, startRedis } from './stage.mjs';

test('a lock on a quorum has its page, and the overview is calm', SLOW, async (t) => {
  const servers = [];
  for (let at = 0; at < 3; at++) {
    const server = await startRedis();
    t.after(() => server.stop());
    servers.push(server);
  }
  const stage = await open('--lock-quorum', servers.map(({ url }) => url).join());
  t.after(() => stage.close());
  await api(stage.url, 'POST', '/locks/report', { ttl_ms: 600_000, owner: 'worker-7' });
  const page = await stage.visit('/healthz');
  const tile = (title) => page.locator('.attention > div', { has: page.locator('dt', { hasText: title }) });
  await page.goto(`${stage.url}/ui`);
  await shows(tile(/^Redis$/).filter({ hasText: 'answers' }));
  await shows(tile('Waiting for locks').filter({ hasText: 'locks of a quorum cannot be listed' }));
  await shows(page.getByText(/^Nothing needs a person/));

  await go(page, 'locks');
  await shows(page.getByText('Locks of a quorum cannot be listed.'));
  await page.getByLabel('Filter locks by name').fill('report');
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await shows(page.locator('dd', { hasText: 'held' }));
  await rowHas(page, 'worker-7', '9 min');
  await counts(page.locator('figure:visible'), 0);
  await counts(page.locator('[role=alert]:visible'), 0);
});

test('a list that is unknown for another reason does not make Redis unknown', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const page = await stage.visit('/healthz');
  const unknown = (code) => [{ of: 'locks', code, detail: 'it cannot be listed' }];
  let code = 'unsupported_with_quorum';
  await page.route(/\/overview$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), locks: null, unknown: unknown(code) } });
  });
  await page.goto(`${stage.url}/ui`);
  const redis = page.locator('.attention > div', { has: page.locator('dt', { hasText: /^Redis$/ }) });
  await shows(redis.filter({ hasText: 'answers' }));
  await shows(page.locator('.attention > div', { hasText: 'Waiting for locks' }).filter({ hasText: 'not known' }));
  code = 'no_answer';
  await shows(redis.filter({ hasText: 'not known' }));
  stage.assertClean();
});
