// How the SDK comes to the daemon: retries after lost answers, tokens, AWS_ENDPOINT_URL_SQS, and
// messages that pass between SQS and the HTTP API.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SQS } from '@aws-sdk/client-sqs';
import { open, startProxy } from './stage.mjs';

let stage, sqs;

before(async () => {
  stage = await open();
  sqs = stage.sqs;
});

after(() => stage.close());

test('a send whose answer is lost twice is one message', async (context) => {
  const proxy = await startProxy(stage.port);
  context.after(proxy.close);
  const client = stage.client({ endpoint: proxy.url });
  const QueueUrl = await stage.queue();
  proxy.cut = 2;
  const sent = await client.sendMessage({ QueueUrl, MessageBody: 'once' });
  assert.deepEqual(
    proxy.seen.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal(new Set(proxy.seen.map(({ headers }) => headers['amz-sdk-invocation-id'])).size, 1);
  const messages = await stage.receive(QueueUrl);
  assert.deepEqual(
    messages.map(({ MessageId }) => MessageId),
    [sent.MessageId],
  );
});

test('a batch whose answer is lost is sent once', async (context) => {
  const proxy = await startProxy(stage.port);
  context.after(proxy.close);
  const client = stage.client({ endpoint: proxy.url });
  const QueueUrl = await stage.queue();
  proxy.cut = 1;
  const Entries = ['a', 'b', 'c'].map((Id) => ({ Id, MessageBody: 'same' }));
  const { Successful } = await client.sendMessageBatch({ QueueUrl, Entries });
  const messages = await stage.receive(QueueUrl);
  assert.equal(proxy.seen.length, 2);
  assert.deepEqual(
    messages.map(({ MessageId }) => MessageId).sort(),
    Successful.map(({ MessageId }) => MessageId).sort(),
  );
  assert.equal(messages.length, 3);
});

test('a deletion whose answer is lost succeeds', async (context) => {
  const proxy = await startProxy(stage.port);
  context.after(proxy.close);
  const QueueUrl = await stage.queue();
  await sqs.sendMessage({ QueueUrl, MessageBody: 'x' });
  const [{ ReceiptHandle }] = await stage.receive(QueueUrl);
  proxy.cut = 1;
  await stage.client({ endpoint: proxy.url }).deleteMessage({ QueueUrl, ReceiptHandle });
  assert(await stage.isEmpty(QueueUrl));
});

test('AWS_ENDPOINT_URL_SQS is enough', async (context) => {
  const set = {
    AWS_ENDPOINT_URL_SQS: stage.url,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'k',
    AWS_SECRET_ACCESS_KEY: 's',
  };
  Object.assign(process.env, set);
  const client = new SQS({});
  context.after(() => {
    client.destroy();
    Object.keys(set).forEach((name) => delete process.env[name]);
  });
  const { QueueUrl } = await client.createQueue({ QueueName: 'by-environment' });
  await client.sendMessage({ QueueUrl, MessageBody: 'hello' });
  assert.equal((await client.receiveMessage({ QueueUrl })).Messages[0].Body, 'hello');
  assert.match(
    (await client.getQueueAttributes({ QueueUrl, AttributeNames: ['QueueArn'] })).Attributes.QueueArn,
    /^arn:aws:sqs:eu-central-1:/,
  );
});

test('messages pass the doors', { skip: Boolean(process.env.SQS_URL) }, async () => {
  const QueueUrl = await stage.queue();
  const name = QueueUrl.split('/').pop();
  const queue = stage.running.client().queue(name);
  await sqs.sendMessage({
    QueueUrl,
    MessageBody: '{"order":15}',
    MessageAttributes: { lang: { DataType: 'String', StringValue: 'de' } },
  });
  const message = await queue.receive();
  assert.deepEqual([message.body, message.headers], [{ order: 15 }, { lang: 'de' }]);
  await message.acknowledge();
  await queue.send({ order: 16 }, { headers: { lang: 'fr' } });
  await queue.send('hello');
  const back = await stage.receive(QueueUrl, { MessageAttributeNames: ['All'] });
  assert.deepEqual(
    back.map(({ Body }) => Body),
    ['{"order":16}', 'hello'],
  );
  assert.deepEqual(back[0].MessageAttributes, { lang: { DataType: 'String', StringValue: 'fr' } });
});

/** A file of tokens, and the tokens by their labels. */
function tokens(context, scopes) {
  const folder = mkdtempSync(join(tmpdir(), 'patternd-sqs-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const made = {};
  const lines = Object.entries(scopes).map(([label, scope]) => {
    made[label] = randomBytes(24).toString('base64'); // may have a slash
    return `${createHash('sha256').update(made[label]).digest('hex')} ${scope} # ${label}\n`;
  });
  const file = join(folder, 'tokens');
  writeFileSync(file, lines.join(''), { mode: 0o600 });
  return { file, made };
}

test('a token is the session token, or the key id', { skip: Boolean(process.env.SQS_URL) }, async (context) => {
  const { file, made } = tokens(context, {
    owner: 'queues:*:manage queues:*:send queues:*:receive queues:*:read queues:list',
    sender: 'queues:orders:send',
  });
  const guarded = await open('--tokens', file);
  context.after(() => guarded.close());
  const by = (credentials) => guarded.client({ credentials: { secretAccessKey: 'any', ...credentials } });
  const owner = by({ accessKeyId: 'anything', sessionToken: made.owner });
  const { QueueUrl } = await owner.createQueue({ QueueName: 'orders' });
  const sender = by({ accessKeyId: made.sender });
  assert.equal((await sender.getQueueUrl({ QueueName: 'orders' })).QueueUrl, QueueUrl);
  await sender.sendMessage({ QueueUrl, MessageBody: 'x' });
  const refused = (name, status) => (error) => error.name === name && error.$metadata.httpStatusCode === status;
  await assert.rejects(sender.receiveMessage({ QueueUrl }), refused('AccessDenied', 403));
  await assert.rejects(sender.listQueues({}), refused('AccessDenied', 403));
  await assert.rejects(
    by({ accessKeyId: 'wrong' }).receiveMessage({ QueueUrl }),
    refused('InvalidClientTokenId', 403),
  );
  // The session token comes first, even if the key id is a good token.
  await assert.rejects(
    by({ accessKeyId: made.owner, sessionToken: 'wrong' }).listQueues({}),
    refused('InvalidClientTokenId', 403),
  );
  assert.equal((await owner.receiveMessage({ QueueUrl })).Messages[0].Body, 'x');
});
