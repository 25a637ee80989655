// Shared by the tests of the SQS endpoint: a daemon, SDK clients of it, and queues.
//
//   const stage = await open();                  a daemon, and a client of it in stage.sqs
//   const url = await stage.queue({ VisibilityTimeout: '1' });   a new queue; .fifo if it is one
//   await stage.close();
//
// PATTERND names the program (build/patternd). With SQS_URL the tests ask what serves there.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SQS } from '@aws-sdk/client-sqs';
import { daemon } from '../../clients/javascript/testing.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const CREDENTIALS = { accessKeyId: 'key', secretAccessKey: 'any' };
let made = 0;

export { until } from '../libraries/gate.mjs';

export async function open(...options) {
  const program = process.env.PATTERND ?? join(ROOT, 'build/patternd');
  const running = process.env.SQS_URL ? null : await daemon({ program, options });
  const url = running?.url ?? process.env.SQS_URL;
  return new Stage(url, running);
}

class Stage {
  #clients = [];

  constructor(url, running) {
    this.url = url;
    this.running = running;
    this.port = Number(new URL(url).port);
    this.sqs = this.client();
  }

  /** A client, as a program makes it; `options` go to the SDK. */
  client(options) {
    const client = new SQS({ endpoint: this.url, region: 'eu-central-1', credentials: CREDENTIALS, ...options });
    this.#clients.push(client);
    return client;
  }

  /** The URL of a new queue. */
  async queue(attributes = {}) {
    made += 1;
    const name = `test-${process.pid}-${made}${attributes.FifoQueue ? '.fifo' : ''}`;
    return (await this.sqs.createQueue({ QueueName: name, Attributes: attributes })).QueueUrl;
  }

  async arn(url) {
    const { Attributes } = await this.sqs.getQueueAttributes({ QueueUrl: url, AttributeNames: ['QueueArn'] });
    return Attributes.QueueArn;
  }

  /** Two queues: messages that were received `times` times move to the second one. */
  async withDead(times, attributes = {}) {
    const kind = attributes.FifoQueue ? { FifoQueue: attributes.FifoQueue } : {};
    const dead = await this.queue(kind);
    const policy = { deadLetterTargetArn: await this.arn(dead), maxReceiveCount: times };
    return { url: await this.queue({ ...attributes, RedrivePolicy: JSON.stringify(policy) }), dead };
  }

  /** What a receive returns: [] if nothing is there. */
  async receive(url, options = {}) {
    const answer = await this.sqs.receiveMessage({ QueueUrl: url, MaxNumberOfMessages: 10, ...options });
    return answer.Messages ?? [];
  }

  /** How many messages are ready, in flight and delayed. */
  async counts(url) {
    const names = ['', 'NotVisible', 'Delayed'].map((name) => `ApproximateNumberOfMessages${name}`);
    const { Attributes } = await this.sqs.getQueueAttributes({ QueueUrl: url, AttributeNames: names });
    return names.map((name) => Number(Attributes[name]));
  }

  /** Waits until no message is left, in any state. */
  async isEmpty(url) {
    return (await this.counts(url)).every((count) => count === 0);
  }

  async close() {
    this.#clients.forEach((client) => client.destroy());
    await this.running?.stop();
  }
}

/**
 * A proxy that keeps each request and its answer. `cut` is how many answers it does not pass on: it
 * waits for them, and closes the connection.
 */
export async function startProxy(port) {
  const seen = [];
  const proxy = { seen, cut: 0 };
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const kept = { method, path, headers };
    seen.push(kept);
    const onward = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      kept.status = answer.statusCode;
      if (proxy.cut > 0) {
        proxy.cut -= 1;
        answer.resume().on('end', () => incoming.socket.destroy());
        return;
      }
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => incoming.socket.destroy());
    incoming.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy.url = `http://127.0.0.1:${server.address().port}`;
  proxy.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return proxy;
}
