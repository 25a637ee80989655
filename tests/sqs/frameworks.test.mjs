// Programs that use the SDK: sqs-consumer, sqs-producer, and @ssut/nestjs-sqs in NestJS.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import nestjsSqs from '@ssut/nestjs-sqs';
import { Consumer } from 'sqs-consumer';
import { Producer } from 'sqs-producer';
import { open, until } from './stage.mjs';

let stage, sqs;

before(async () => {
  stage = await open();
  sqs = stage.sqs;
});

after(() => stage.close());

/** A consumer that runs until the test ends; an error that it reports fails the test. */
function consume(context, queueUrl, options) {
  const seen = { errors: [], failed: [] };
  const consumer = Consumer.create({ queueUrl, sqs, waitTimeSeconds: 5, ...options });
  consumer.on('error', (error) => seen.errors.push(error));
  consumer.on('processing_error', (error) => seen.failed.push(error.message));
  consumer.start();
  context.after(() => consumer.stop({ abort: true }));
  return seen;
}

test('sqs-consumer handles messages of sqs-producer one by one', async (context) => {
  const queueUrl = await stage.queue();
  const producer = Producer.create({ queueUrl, sqs });
  const bodies = Array.from({ length: 12 }, (_, i) => `message-${i}`); // it takes a text as its id, too
  assert.equal((await producer.send(bodies)).length, 12);
  assert.equal(await producer.queueSize(), 12);
  const got = [];
  const handleMessage = async (message) => {
    got.push(message.Body);
    return message; // later versions delete no other
  };
  const { errors } = consume(context, queueUrl, { handleMessage });
  await until(async () => got.length >= 12 && (await stage.isEmpty(queueUrl)), 'all messages are handled');
  assert.deepEqual([got.sort(), errors], [bodies.sort(), []]);
});

test('sqs-consumer deletes the messages of a batch that its handler returns', async (context) => {
  const queueUrl = await stage.queue({ VisibilityTimeout: '1' });
  const Entries = Array.from({ length: 10 }, (_, i) => ({ Id: `${i}`, MessageBody: `${i}` }));
  await sqs.sendMessageBatch({ QueueUrl: queueUrl, Entries });
  const sizes = [];
  const counts = new Map();
  const { errors } = consume(context, queueUrl, {
    batchSize: 10,
    handleMessageBatch: async (messages) => {
      sizes.push(messages.length);
      messages.forEach(({ Body }) => counts.set(Body, (counts.get(Body) ?? 0) + 1));
      return messages.filter(({ Body }) => Number(Body) % 2 === 0 || counts.get(Body) > 1);
    },
  });
  await until(() => stage.isEmpty(queueUrl), 'the rest comes again');
  assert.equal(sizes[0], 10);
  assert.deepEqual(Object.fromEntries(counts), Object.fromEntries(Entries.map(({ Id }) => [Id, 1 + (Number(Id) % 2)])));
  assert.deepEqual(errors, []);
});

for (const kind of ['handleMessage', 'handleMessageBatch']) {
  test(`the heartbeat of sqs-consumer keeps the messages of ${kind}`, async (context) => {
    const queueUrl = await stage.queue();
    await sqs.sendMessage({ QueueUrl: queueUrl, MessageBody: 'slow' });
    let calls = 0;
    const handle = async (given) => {
      calls += 1;
      await new Promise((resolve) => setTimeout(resolve, 4500));
      return given;
    };
    const { errors } = consume(context, queueUrl, { visibilityTimeout: 2, heartbeatInterval: 1, [kind]: handle });
    await until(async () => calls > 0, 'the handler is called');
    assert.deepEqual(await stage.receive(queueUrl, { WaitTimeSeconds: 4 }), []); // the heartbeat holds it
    await until(() => stage.isEmpty(queueUrl), 'the message is deleted');
    assert.deepEqual([calls, errors], [1, []]);
  });
}

test('a message that sqs-consumer cannot handle becomes a dead letter', async (context) => {
  const { url, dead } = await stage.withDead(3);
  await sqs.sendMessage({ QueueUrl: url, MessageBody: 'poison' });
  const { failed, errors } = consume(context, url, {
    terminateVisibilityTimeout: true,
    waitTimeSeconds: 1,
    handleMessage: async () => {
      throw new Error('bad');
    },
  });
  const [letter] = await stage.receive(dead, { WaitTimeSeconds: 20 });
  assert.equal(letter.Body, 'poison');
  assert.deepEqual([failed.length, errors], [3, []]);
});

/** Applies a decorator to a method, as TypeScript does. */
const decorate = (decorator, { prototype }, name) =>
  decorator(prototype, name, Object.getOwnPropertyDescriptor(prototype, name));

test('@ssut/nestjs-sqs consumes and produces', async () => {
  const { SqsConsumerEventHandler, SqsMessageHandler, SqsModule, SqsService } = nestjsSqs;
  const queueUrl = await stage.queue();
  const got = [];
  const errors = [];
  class Orders {
    handle(message) {
      got.push(JSON.parse(message.Body));
    }
    fail(error) {
      errors.push(error.message);
    }
  }
  decorate(SqsMessageHandler('orders', false), Orders, 'handle');
  decorate(SqsConsumerEventHandler('orders', 'error'), Orders, 'fail');
  const options = { name: 'orders', queueUrl, sqs, region: 'eu-central-1' };
  const consumers = [{ ...options, stopOptions: { abort: true } }];
  class App {}
  Module({ imports: [SqsModule.register({ consumers, producers: [options] })], providers: [Orders] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error'] });
  await app.get(SqsService).send('orders', { id: 'one', body: { order: 15 } });
  await until(async () => got.length === 1 && (await stage.isEmpty(queueUrl)), 'the order is handled');
  assert.deepEqual([got, errors], [[{ order: 15 }], []]);
  assert.equal((await app.get(SqsService).getQueueAttributes('orders')).VisibilityTimeout, '30');
  await app.close(); // which ends the long poll with an error
});
