// The SDK of AWS, @aws-sdk/client-sqs, against the daemon. The SDK compares the MD5 of each body
// that it receives.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import * as errors from '@aws-sdk/client-sqs';
import { open, until } from './stage.mjs';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
let stage, sqs;

before(async () => {
  stage = await open();
  sqs = stage.sqs;
});

after(() => stage.close());

test('a message is sent, received and deleted', async () => {
  const QueueUrl = await stage.queue();
  const sent = await sqs.sendMessage({ QueueUrl, MessageBody: 'hello' });
  assert.match(sent.MessageId, UUID);
  const [message, ...more] = await stage.receive(QueueUrl, { MessageSystemAttributeNames: ['All'] });
  assert.deepEqual(more, []);
  assert.equal(message.Body, 'hello');
  assert.equal(message.MessageId, sent.MessageId);
  assert.equal(message.Attributes.ApproximateReceiveCount, '1');
  assert(Math.abs(Number(message.Attributes.SentTimestamp) - Date.now()) < 60_000);
  assert.deepEqual(await stage.counts(QueueUrl), [0, 1, 0]);
  await sqs.deleteMessage({ QueueUrl, ReceiptHandle: message.ReceiptHandle });
  assert.deepEqual(await stage.counts(QueueUrl), [0, 0, 0]);
});

test('texts come back as they were', async () => {
  const QueueUrl = await stage.queue();
  const nested = '['.repeat(40) + ']'.repeat(40);
  const texts = [
    '5',
    '"x"',
    ' {"a":1} ',
    '{"a":1,"a":2}',
    '{"a":1.0}',
    '{"a":"\\u00e9"}',
    'null',
    '',
    '\n',
    'é€😀',
    nested,
    '{"a":1}\n',
    '[1,]',
    '\\',
    '"',
    '{}',
    '[ ]',
    '\ufffd',
    '&lt;\t<',
  ];
  const sent = texts.filter((text) => text !== '');
  for (let i = 0; i < sent.length; i += 10) {
    const Entries = sent.slice(i, i + 10).map((MessageBody, at) => ({ Id: `m${at}`, MessageBody }));
    const { Failed } = await sqs.sendMessageBatch({ QueueUrl, Entries });
    assert.equal(Failed, undefined);
  }
  const back = [...(await stage.receive(QueueUrl)), ...(await stage.receive(QueueUrl))];
  assert.deepEqual(back.map(({ Body }) => Body).sort(), [...sent].sort());
});

test('a long poll returns with the message', async () => {
  const QueueUrl = await stage.queue();
  const began = performance.now();
  const waiting = stage.receive(QueueUrl, { WaitTimeSeconds: 20 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await sqs.sendMessage({ QueueUrl, MessageBody: 'here' });
  const [message] = await waiting;
  assert.equal(message.Body, 'here');
  assert(performance.now() - began < 5000);
});

test('an empty poll waits, and has no messages', async () => {
  const QueueUrl = await stage.queue();
  const began = performance.now();
  const answer = await sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 1 });
  assert.equal(answer.Messages, undefined);
  assert(performance.now() - began > 900);
});

test('a change of the visibility delays the next delivery, and 0 ends it', async () => {
  const QueueUrl = await stage.queue({ VisibilityTimeout: '1' });
  await sqs.sendMessage({ QueueUrl, MessageBody: 'slow' });
  const [{ ReceiptHandle }] = await stage.receive(QueueUrl);
  await sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 60 });
  assert.deepEqual(await stage.receive(QueueUrl, { WaitTimeSeconds: 2 }), []);
  await sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 });
  const names = { MessageSystemAttributeNames: ['ApproximateReceiveCount'] };
  const [again] = await stage.receive(QueueUrl, { WaitTimeSeconds: 2, ...names });
  assert.equal(again.Attributes.ApproximateReceiveCount, '2');
  assert.notEqual(again.ReceiptHandle, ReceiptHandle);
});

test('batches of ten succeed in part', async () => {
  const QueueUrl = await stage.queue();
  const Entries = Array.from({ length: 10 }, (_, i) => ({ Id: `id-${i}`, MessageBody: i === 3 ? '\u0001' : `${i}` }));
  const sent = await sqs.sendMessageBatch({ QueueUrl, Entries });
  assert.equal(sent.Successful.length, 9);
  assert.deepEqual(
    sent.Failed.map(({ Id, Code, SenderFault }) => [Id, Code, SenderFault]),
    [['id-3', 'InvalidMessageContents', true]],
  );
  const received = await stage.receive(QueueUrl);
  assert.equal(received.length, 9);
  const handles = received.map(({ MessageId, ReceiptHandle }) => ({ Id: MessageId, ReceiptHandle }));
  const longer = [
    ...handles.map((entry) => ({ ...entry, VisibilityTimeout: 60 })),
    { Id: 'bad', ReceiptHandle: 'garbage', VisibilityTimeout: 1 },
  ];
  const changed = await sqs.changeMessageVisibilityBatch({ QueueUrl, Entries: longer });
  assert.deepEqual(
    [changed.Successful.length, changed.Failed.map(({ Id, Code }) => [Id, Code])],
    [9, [['bad', 'ReceiptHandleIsInvalid']]],
  );
  const deleted = await sqs.deleteMessageBatch({
    QueueUrl,
    Entries: [...handles, { Id: 'bad', ReceiptHandle: 'garbage' }],
  });
  assert.deepEqual(
    [deleted.Successful.length, deleted.Failed.map(({ Id, Code }) => [Id, Code])],
    [9, [['bad', 'ReceiptHandleIsInvalid']]],
  );
  assert(await stage.isEmpty(QueueUrl));
});

test('message attributes of all types come back', async () => {
  const QueueUrl = await stage.queue();
  const MessageAttributes = {
    text: { DataType: 'String', StringValue: 'é' },
    count: { DataType: 'Number', StringValue: '12.50' },
    price: { DataType: 'Number.float', StringValue: '-1e3' },
    logo: { DataType: 'Binary.png', BinaryValue: Uint8Array.from([0, 255, 10, 13]) },
    traceparent: { DataType: 'String', StringValue: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
  };
  const sent = await sqs.sendMessage({ QueueUrl, MessageBody: 'x', MessageAttributes });
  const [all] = await stage.receive(QueueUrl, { MessageAttributeNames: ['All'] });
  assert.deepEqual(all.MessageAttributes, MessageAttributes);
  assert.equal(all.MD5OfMessageAttributes, sent.MD5OfMessageAttributes);
});

test('a delay and a size of 1 MiB', async () => {
  const QueueUrl = await stage.queue();
  await sqs.sendMessage({ QueueUrl, MessageBody: 'later', DelaySeconds: 1 });
  assert.deepEqual(await stage.counts(QueueUrl), [0, 0, 1]);
  assert.equal((await stage.receive(QueueUrl, { WaitTimeSeconds: 3 }))[0].Body, 'later');
  const large = '"'.repeat(1024 * 1024);
  await sqs.sendMessage({ QueueUrl, MessageBody: large });
  assert.equal((await stage.receive(QueueUrl))[0].Body, large);
});

test('queues are listed in pages', async () => {
  const prefix = `pages-${process.pid}-`;
  const urls = [];
  for (let i = 0; i < 7; i += 1) {
    urls.push((await sqs.createQueue({ QueueName: `${prefix}${i}` })).QueueUrl);
  }
  const found = [];
  for await (const page of errors.paginateListQueues({ client: sqs, pageSize: 3 }, { QueueNamePrefix: prefix })) {
    assert(page.QueueUrls.length <= 3);
    found.push(...page.QueueUrls);
  }
  assert.deepEqual(found.sort(), urls.sort());
  assert.equal((await sqs.getQueueUrl({ QueueName: `${prefix}3` })).QueueUrl, urls[3]);
  assert.equal((await sqs.listQueues({ QueueNamePrefix: `${prefix}absent` })).QueueUrls, undefined);
});

test('a QueueUrl is in the form of AWS', async () => {
  const QueueUrl = await stage.queue();
  assert.match(new URL(QueueUrl).pathname, /^\/\d{12}\/test-[-0-9]+$/);
  assert.equal(new URL(QueueUrl).host, new URL(stage.url).host);
});

test('tags are set, replaced and removed', async () => {
  const QueueUrl = await stage.queue();
  await sqs.tagQueue({ QueueUrl, Tags: { team: 'orders', stage: 'test' } });
  await sqs.tagQueue({ QueueUrl, Tags: { stage: 'live' } });
  await sqs.untagQueue({ QueueUrl, TagKeys: ['team'] });
  assert.deepEqual((await sqs.listQueueTags({ QueueUrl })).Tags, { stage: 'live' });
});

test('errors are caught by their class', async () => {
  const absent = `${stage.url}/000000000000/absent-${randomUUID()}`;
  const QueueUrl = await stage.queue({ DelaySeconds: '1' });
  const name = QueueUrl.split('/').pop();
  await assert.rejects(sqs.sendMessage({ QueueUrl: absent, MessageBody: 'x' }), errors.QueueDoesNotExist);
  await assert.rejects(sqs.receiveMessage({ QueueUrl: absent }), errors.QueueDoesNotExist);
  await assert.rejects(sqs.getQueueUrl({ QueueName: 'absent' }), errors.QueueDoesNotExist);
  await assert.rejects(sqs.createQueue({ QueueName: name, Attributes: { DelaySeconds: '2' } }), errors.QueueNameExists);
  await assert.rejects(sqs.deleteMessage({ QueueUrl, ReceiptHandle: 'garbage' }), errors.ReceiptHandleIsInvalid);
  await assert.rejects(sqs.sendMessageBatch({ QueueUrl, Entries: [] }), errors.EmptyBatchRequest);
  await assert.rejects(sqs.sendMessage({ QueueUrl, MessageBody: '\u0000' }), errors.InvalidMessageContents);
  await assert.rejects(sqs.setQueueAttributes({ QueueUrl, Attributes: { Absent: '1' } }), errors.InvalidAttributeName);
  await assert.rejects(
    sqs.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: '901' } }),
    errors.InvalidAttributeValue,
  );
  const twice = ['1', '1'].map((Id) => ({ Id, MessageBody: 'x' }));
  await assert.rejects(sqs.sendMessageBatch({ QueueUrl, Entries: twice }), errors.BatchEntryIdsNotDistinct);
  assert.equal((await sqs.listQueues({ QueueNamePrefix: 'absent' })).QueueUrls, undefined); // none was made
});

test('dead letters move after maxReceiveCount, and a task moves them back', async () => {
  const { url, dead } = await stage.withDead(2);
  await sqs.sendMessage({
    QueueUrl: url,
    MessageBody: 'poison',
    MessageAttributes: { a: { DataType: 'Number', StringValue: '1' } },
  });
  for (let i = 0; i < 2; i += 1) {
    assert.equal((await stage.receive(url, { VisibilityTimeout: 0, WaitTimeSeconds: 2 })).length, 1);
  }
  assert.deepEqual(await stage.receive(url, { WaitTimeSeconds: 1 }), []);
  const names = { MessageAttributeNames: ['All'], MessageSystemAttributeNames: ['All'] };
  const [letter] = await stage.receive(dead, { WaitTimeSeconds: 5, VisibilityTimeout: 0, ...names });
  assert.equal(letter.Body, 'poison');
  assert.deepEqual(letter.MessageAttributes, { a: { DataType: 'Number', StringValue: '1' } });
  assert.equal(letter.Attributes.DeadLetterQueueSourceArn, await stage.arn(url));
  assert.deepEqual((await sqs.listDeadLetterSourceQueues({ QueueUrl: dead })).queueUrls, [url]);
  await until(async () => (await stage.counts(dead))[0] === 1, 'the dead letter is visible');
  const SourceArn = await stage.arn(dead);
  await sqs.startMessageMoveTask({ SourceArn });
  assert.equal((await stage.receive(url, { WaitTimeSeconds: 5 }))[0].Body, 'poison');
  const { Results } = await sqs.listMessageMoveTasks({ SourceArn });
  assert.equal(Results[0].Status, 'COMPLETED');
  assert.equal(Number(Results[0].ApproximateNumberOfMessagesMoved), 1);
});

test('a task moves between queues of one type only', async () => {
  const { dead } = await stage.withDead(2);
  const SourceArn = await stage.arn(dead);
  const DestinationArn = await stage.arn(await stage.queue({ FifoQueue: 'true' }));
  await assert.rejects(sqs.startMessageMoveTask({ SourceArn, DestinationArn }), { name: 'InvalidParameterValue' });
});

test('the header traceparent of a request is no attribute of its message', async () => {
  const QueueUrl = await stage.queue();
  const traced = stage.client();
  const trace = (next) => (args) => {
    args.request.headers.traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    return next(args);
  };
  traced.middlewareStack.add(trace, { step: 'build' });
  await traced.sendMessage({ QueueUrl, MessageBody: 'x' });
  const [message] = await stage.receive(QueueUrl, { MessageAttributeNames: ['All'] });
  assert.equal(message.Body, 'x');
  assert.equal(message.MessageAttributes, undefined);
});

test('the instant of the first receive stays, and is not before the send', async () => {
  const QueueUrl = await stage.queue();
  await sqs.sendMessage({ QueueUrl, MessageBody: 'x' });
  const names = { MessageSystemAttributeNames: ['All'], WaitTimeSeconds: 5 };
  const [first] = await stage.receive(QueueUrl, { VisibilityTimeout: 0, ...names });
  const [second] = await stage.receive(QueueUrl, names);
  const { SentTimestamp, ApproximateFirstReceiveTimestamp } = first.Attributes;
  assert(Number(ApproximateFirstReceiveTimestamp) >= Number(SentTimestamp));
  assert.equal(second.Attributes.ApproximateFirstReceiveTimestamp, ApproximateFirstReceiveTimestamp);
});

test('a purge and a deletion', async () => {
  const QueueUrl = await stage.queue();
  await sqs.sendMessage({ QueueUrl, MessageBody: 'x' });
  await sqs.purgeQueue({ QueueUrl });
  assert(await stage.isEmpty(QueueUrl));
  const waiting = assert.rejects(sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 20 }), errors.QueueDoesNotExist);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await sqs.deleteQueue({ QueueUrl });
  await waiting;
});
