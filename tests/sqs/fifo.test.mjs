// FIFO queues, by the SDK of AWS.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open } from './stage.mjs';

let stage, sqs;

before(async () => {
  stage = await open();
  sqs = stage.sqs;
});

after(() => stage.close());

const send = (QueueUrl, MessageBody, MessageGroupId, MessageDeduplicationId) =>
  sqs.sendMessage({ QueueUrl, MessageBody, MessageGroupId, MessageDeduplicationId });

test('each group keeps its order, and groups go on beside each other', async () => {
  const QueueUrl = await stage.queue({ FifoQueue: 'true', ContentBasedDeduplication: 'true' });
  for (const [group, body] of [
    ['a', 'a1'],
    ['a', 'a2'],
    ['b', 'b1'],
    ['a', 'a3'],
    ['b', 'b2'],
  ]) {
    await send(QueueUrl, body, group);
  }
  const orders = { a: [], b: [] };
  for (let left = 5; left > 0;) {
    const messages = await stage.receive(QueueUrl, {
      MessageSystemAttributeNames: ['MessageGroupId'],
      WaitTimeSeconds: 5,
    });
    assert.notEqual(messages.length, 0);
    for (const { Body, Attributes, ReceiptHandle } of messages) {
      orders[Attributes.MessageGroupId].push(Body);
      await sqs.deleteMessage({ QueueUrl, ReceiptHandle });
      left -= 1;
    }
  }
  assert.deepEqual(orders, { a: ['a1', 'a2', 'a3'], b: ['b1', 'b2'] });
});

test('a message in flight holds back its group', async () => {
  const QueueUrl = await stage.queue({ FifoQueue: 'true', ContentBasedDeduplication: 'true' });
  await send(QueueUrl, 'first', 'a');
  const [first] = await stage.receive(QueueUrl);
  await send(QueueUrl, 'second', 'a');
  await send(QueueUrl, 'other', 'b');
  assert.deepEqual(
    (await stage.receive(QueueUrl)).map(({ Body }) => Body),
    ['other'],
  );
  const waiting = stage.receive(QueueUrl, { WaitTimeSeconds: 20 });
  await sqs.deleteMessage({ QueueUrl, ReceiptHandle: first.ReceiptHandle });
  assert.deepEqual(
    (await waiting).map(({ Body }) => Body),
    ['second'],
  );
});

test('a duplicate is answered as the first message, also after its deletion', async () => {
  const QueueUrl = await stage.queue({ FifoQueue: 'true' });
  const first = await send(QueueUrl, 'one', 'a', 'dedupe');
  const [message] = await stage.receive(QueueUrl, { MessageSystemAttributeNames: ['All'] });
  assert.equal(message.Attributes.MessageDeduplicationId, 'dedupe');
  assert.equal(message.Attributes.SequenceNumber, first.SequenceNumber);
  await sqs.deleteMessage({ QueueUrl, ReceiptHandle: message.ReceiptHandle });
  const again = await send(QueueUrl, 'two', 'a', 'dedupe');
  assert.equal(again.MessageId, first.MessageId);
  assert.equal(again.SequenceNumber, first.SequenceNumber);
  assert(await stage.isEmpty(QueueUrl));
  const next = await send(QueueUrl, 'three', 'a', 'another');
  assert(BigInt(next.SequenceNumber) > BigInt(first.SequenceNumber));
});

test('a duplicate in a batch succeeds with the MessageId of the first', async () => {
  const QueueUrl = await stage.queue({ FifoQueue: 'true', ContentBasedDeduplication: 'true' });
  const Entries = ['same', 'same', 'other'].map((MessageBody, i) => ({ Id: `${i}`, MessageBody, MessageGroupId: 'a' }));
  const { Successful } = await sqs.sendMessageBatch({ QueueUrl, Entries });
  const ids = Object.fromEntries(Successful.map(({ Id, MessageId }) => [Id, MessageId]));
  assert.equal(ids[0], ids[1]);
  assert.notEqual(ids[0], ids[2]);
  assert.deepEqual(await stage.counts(QueueUrl), [2, 0, 0]);
});

test('a dead letter frees its group', async () => {
  const { url, dead } = await stage.withDead(1, { FifoQueue: 'true', ContentBasedDeduplication: 'true' });
  await send(url, 'poison', 'a');
  await send(url, 'good', 'a');
  assert.deepEqual(
    (await stage.receive(url, { VisibilityTimeout: 0 })).map(({ Body }) => Body),
    ['poison'],
  );
  assert.deepEqual(
    (await stage.receive(url, { WaitTimeSeconds: 5 })).map(({ Body }) => Body),
    ['good'],
  );
  assert.deepEqual(
    (await stage.receive(dead, { WaitTimeSeconds: 5 })).map(({ Body }) => Body),
    ['poison'],
  );
});

test('a receive that is repeated with its attempt id returns the same messages', async () => {
  const QueueUrl = await stage.queue({ FifoQueue: 'true', ContentBasedDeduplication: 'true' });
  await send(QueueUrl, 'one', 'a');
  const once = { ReceiveRequestAttemptId: `attempt-${process.pid}` };
  const [first] = await stage.receive(QueueUrl, once);
  const [again] = await stage.receive(QueueUrl, once);
  assert.equal(again?.MessageId, first.MessageId);
  assert.equal((await stage.receive(QueueUrl)).length, 0);
});
