// The worker, tested beside its own daemon: node --test examples/worker/
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
// In your program: from 'patternd/testing'.
import { daemon } from '../../clients/javascript/testing.js';
import { workMails } from './mails.mjs';

let patternd, client;

before(async () => {
  patternd = await daemon();
  client = patternd.client({ warn: () => {} });
});

after(() => patternd.stop());

test('each mail is delivered; one without an address is dead', async () => {
  const mails = client.queue('mails');
  await mails.put({ maxReceives: 1 });
  await mails.sendMany([{ body: { to: 'ann@example.org', text: 'hello' } }, { body: { to: 'bob' }, id: 'wrong' }]);
  const delivered = [];
  const stop = new AbortController();
  const deliver = async (to) => delivered.push(to);
  const worker = workMails(client, deliver, { stop: stop.signal, signals: false });
  while ((await mails.get()).dead === 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  stop.abort();
  await worker;
  assert.deepEqual(delivered, ['ann@example.org']);
  assert.match((await mails.getMessage('wrong')).reason, /'bob' is no address/);
});
