/**
 * Extends deliveries of a queue, many by one request: those that ask for it at the same time, and
 * those that would ask for it soon.
 */
import { now, startTimer } from './clock.js';
import { Problem } from './problem.js';

const ROWS_MAX = 100;
const CODES = { cancelled: 'message_cancelled', not_current: 'receipt_expired' };
const ofClients = new WeakMap(); // of each client its extenders by path, while they have deliveries

export class Extender {
  #client;
  #path;
  #messages = new Set();
  #asked = []; // of { message, visibilityMs, deadline, resolve, reject }
  #sending = new Set(); // of { asked, controller }

  constructor(client, path) {
    this.#client = client;
    this.#path = path;
  }

  /** The one of a queue, which `path` names. */
  static of(client, path) {
    const extenders = ofClients.get(client) ?? new Map();
    ofClients.set(client, extenders);
    const extender = extenders.get(path) ?? new Extender(client, path);
    extenders.set(path, extender);
    return extender;
  }

  add(message) {
    this.#messages.add(message);
  }

  delete(message) {
    this.#messages.delete(message);
    this.#sending.forEach(({ asked, controller }) => {
      if (!asked.some((one) => this.#messages.has(one.message))) {
        controller.abort(); // all of them have ended
      }
    });
    const extenders = ofClients.get(this.#client);
    if (this.#messages.size === 0 && extenders.get(this.#path) === this) {
      extenders.delete(this.#path);
    }
  }

  /** Resolves with `sent`, when the request began that extended it to `visibilityMs` from then. */
  extend(message, visibilityMs, timeoutMs) {
    return new Promise((resolve, reject) => {
      this.#asked.push({ message, visibilityMs, deadline: now() + timeoutMs, resolve, reject });
      if (this.#asked.length === 1) {
        setTimeout(() => this.#send());
        this.#messages.forEach((other) => other._join());
      }
    });
  }

  #send() {
    const asked = this.#asked;
    this.#asked = [];
    for (const visibilityMs of new Set(asked.map((one) => one.visibilityMs))) {
      const some = asked.filter((one) => one.visibilityMs === visibilityMs);
      for (let from = 0; from < some.length; from += ROWS_MAX) {
        this.#sendSome(some.slice(from, from + ROWS_MAX), visibilityMs);
      }
    }
  }

  /** Each waits until its own deadline, since its delivery ends then. */
  async #sendSome(asked, visibilityMs) {
    const timers = asked.map(({ message, deadline, reject }) => {
      return startTimer(() => reject(message._problem('it was not extended in time')), deadline - now());
    });
    const controller = new AbortController();
    const sending = { asked, controller };
    this.#sending.add(sending);
    try {
      const body = { receipts: asked.map(({ message }) => message.receipt), visibility_ms: visibilityMs };
      const timeoutMs = Math.max(...asked.map(({ deadline }) => deadline - now()), 1);
      const options = { key: '', timeoutMs, signal: controller.signal };
      const answer = await this.#client.request('POST', `${this.#path}/extend`, body, options);
      const told = new Map(answer.body.deliveries.map(({ receipt, outcome }) => [receipt, outcome]));
      for (const { message, resolve, reject } of asked) {
        const code = CODES[told.get(message.receipt)];
        if (code) {
          reject(new Problem(410, { code, effect: 'none', detail: `'${message.id}': the delivery has ended` }));
        } else {
          resolve({ sent: answer.sent });
        }
      }
    } catch (problem) {
      asked.forEach(({ reject }) => reject(problem));
    } finally {
      timers.forEach(clearTimeout);
      this.#sending.delete(sending);
    }
  }
}
