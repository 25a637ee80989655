// examples/sqs/orders.mjs, as docs/sqs.md shows how to start it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { open } from './stage.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const COPY = join(HERE, 'node_modules/.examples'); // from where it finds the SDK

test('the order is shipped', async (context) => {
  const stage = await open();
  context.after(() => stage.close());
  await mkdir(COPY, { recursive: true });
  context.after(() => rm(COPY, { recursive: true }));
  await cp(join(HERE, '../../examples/sqs/orders.mjs'), join(COPY, 'orders.mjs'));
  const keys = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'any', AWS_SECRET_ACCESS_KEY: 'any' };
  const env = { ...process.env, ...keys, AWS_ENDPOINT_URL_SQS: stage.url };
  const { stdout } = await promisify(execFile)(process.execPath, [join(COPY, 'orders.mjs')], { env });
  assert.equal(stdout, 'ships order 15\n');
});
