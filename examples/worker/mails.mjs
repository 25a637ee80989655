#!/usr/bin/env node
// A worker for a queue of mails, until SIGTERM; its test is mails.test.mjs.
import { pathToFileURL } from 'node:url';
// In your program, after `npm install ./clients/javascript`: from 'patternd'.
import { Client } from '../../clients/javascript/patternd.js';

export function workMails(client, deliver, options) {
  return client.queue('mails').work(async ({ id, body, lost }) => {
    if (!body.to?.includes('@')) {
      throw new Error(`'${body.to}' is no address`); // comes again after the backoff, and is dead at last
    }
    await deliver(body.to, body.text, { id, signal: lost });
  }, options);
}

// Not when a test imports it.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const client = new Client();
  await workMails(client, async (to) => console.log(`a mail to ${to}`), { concurrency: 10 });
}
