/** A queue: sending, receiving by hand, and what it is set to. `work` is in work.js. */
import { PAUSE_MS, jitter, now, sleep } from './clock.js';
import { giveUp, granted } from './give_up.js';
import { fromContract, makeKey, pathOf, toContract, workerOf } from './names.js';
import { Message } from './message.js';
import { Work } from './work.js';

export class Queue {
  #client;
  #path;

  constructor(client, name) {
    this.name = name;
    this.#client = client;
    this.#path = pathOf('queues', name);
  }

  async send(body, { signal, timeoutMs, ...options } = {}) {
    return (await this.#send([{ ...options, body }], (rows) => rows[0], { signal, timeoutMs }))[0];
  }

  sendMany(messages, { mustExist = false, ...options } = {}) {
    const rest = mustExist ? { must_exist: true } : {};
    return this.#send(messages, (rows) => ({ messages: rows, ...rest }), options);
  }

  /** A message without an id gets one, by which it is stored once: no Idempotency-Key is needed. */
  async #send(messages, bodyOf, more) {
    const withId = async (message) => ({ ...toContract(message), id: message.id || (await makeKey()) });
    const rows = await Promise.all(messages.map(withId));
    const body = bodyOf(rows);
    const waitMs = Math.max(body.wait_room_ms ?? 0, body.wait_result_ms ?? 0);
    const options = { ...more, key: '', waitMs };
    const { body: sent } = await this.#client.request('POST', `${this.#path}/messages`, body, options);
    // By the id that was made for it, a message is a duplicate of itself only.
    const isKnown = (one, i) => one.duplicate && (!!messages[i].id || one.id !== rows[i].id);
    return sent.messages.map(fromContract).map((one, i) => ({ ...one, duplicate: isKnown(one, i) }));
  }

  /** One message or null. */
  async receive({ waitMs = 0, visibilityMs = 30000, maxWorkMs = 3600000, worker, signal, timeoutMs } = {}) {
    const body = { visibility_ms: visibilityMs, wait_ms: waitMs, worker: await workerOf(worker) };
    const options = { waitMs, signal, timeoutMs, lastsMs: visibilityMs };
    const deadline = now() + (timeoutMs ?? this.#client.timeoutMs) + waitMs;
    const call = await this.#client._keyed('POST', `${this.#path}/receive`, body, options);
    const release = ({ receipt }) => this.#return(receipt);
    const response = await granted(this.#client, call, options, (answer) => answer.body.messages.map(release));
    for (const reply of response.body.messages) {
      const message = new Message(this.#client, this.name, reply, visibilityMs);
      const isSure = !response.headers.get('Idempotent-Replayed');
      const rest = { isSure, signal, timeoutMs: Math.max(deadline - now(), 1) };
      try {
        return (await message._begin(response.sent, maxWorkMs, rest)) ? message : null;
      } catch (error) {
        giveUp(this.#client, release(reply), visibilityMs);
        throw error;
      }
    }
    return null;
  }

  /** The call that returns a delivery, uncounted: nothing has worked on it. */
  #return(receipt) {
    const path = `${this.#path}/deliveries${pathOf(receipt)}/reject`;
    return this.#client._call('POST', path, { delay_ms: 0, counted: false });
  }

  async *messages({ stop, waitMs = 20000, ...more } = {}) {
    while (!stop?.aborted) {
      let message;
      const began = now();
      try {
        message = await this.receive({ waitMs, ...more, signal: stop });
      } catch (error) {
        if (stop?.aborted) {
          return;
        }
        throw error;
      }
      if (!message) {
        const isEarly = now() - began < PAUSE_MS; // a daemon that stops lets none wait
        await (isEarly && sleep(jitter(PAUSE_MS), stop).catch(() => {}));
        continue;
      }
      let isDone = false;
      try {
        yield message;
        isDone = true;
      } finally {
        if (!isDone && !message._isSettled) {
          await message.reject(undefined, { reason: 'the loop ended' }).catch(() => {}); // it comes again
        }
      }
      if (!message._isSettled) {
        await message.acknowledge();
      }
    }
  }

  async work(handler, options = {}) {
    await new Work(this.#client, this.name, handler, options).run();
  }

  get(options) {
    return this.#client._ask('GET', this.#path, undefined, options);
  }

  put(settings, options) {
    return this.#client._ask('PUT', this.#path, toContract(settings), options);
  }

  patch(settings, options) {
    return this.#client._ask('PATCH', this.#path, toContract(settings), options);
  }

  delete(options) {
    return this.#client._delete(this.#path, options);
  }

  getMessage(id, { waitMs = 0, ...options } = {}) {
    const query = { wait_ms: waitMs || undefined };
    return this.#client._ask('GET', `${this.#path}/messages${pathOf(id)}`, undefined, { ...options, waitMs, query });
  }

  deleteMessage(id, { inFlight, ...options } = {}) {
    const query = { in_flight: inFlight };
    return this.#client._delete(`${this.#path}/messages${pathOf(id)}`, { ...options, query });
  }

  /** All other members are sent, so that a misspelt `state` is refused and does not purge all. */
  purge({ signal, timeoutMs, ...which } = {}) {
    return this.#client._ask('POST', `${this.#path}/purge`, toContract(which), { signal, timeoutMs });
  }

  redrive({ signal, timeoutMs, ...which } = {}) {
    return this.#client._ask('POST', `${this.#path}/redrive`, toContract(which), { signal, timeoutMs });
  }

  schedules(options) {
    return this.#client._items(`${this.#path}/schedules`, options);
  }

  getSchedule(id, options) {
    return this.#client._ask('GET', this.#schedule(id), undefined, options);
  }

  putSchedule(id, schedule, options) {
    return this.#client._ask('PUT', this.#schedule(id), toContract(schedule), options);
  }

  patchSchedule(id, changes, options) {
    return this.#client._ask('PATCH', this.#schedule(id), toContract(changes), options);
  }

  runSchedule(id, options) {
    return this.#client._ask('POST', `${this.#schedule(id)}/run`, undefined, options);
  }

  deleteSchedule(id, options) {
    return this.#client._delete(this.#schedule(id), options);
  }

  #schedule(id) {
    return `${this.#path}/schedules${pathOf(id)}`;
  }

  groups(options) {
    return this.#client._items(`${this.#path}/groups`, options);
  }

  workers(options) {
    return this.#client._ask('GET', `${this.#path}/workers`, undefined, options);
  }

  pause(forMs, options) {
    return this.#client._ask('POST', `${this.#path}/pause`, { for_ms: forMs }, options);
  }

  resume(options) {
    return this.#client._ask('POST', `${this.#path}/resume`, undefined, options);
  }

  pauseGroup(group, forMs, options) {
    return this.#client._ask('POST', `${this.#path}/groups${pathOf(group)}/pause`, { for_ms: forMs }, options);
  }

  resumeGroup(group, options) {
    return this.#client._ask('POST', `${this.#path}/groups${pathOf(group)}/resume`, undefined, options);
  }
}
