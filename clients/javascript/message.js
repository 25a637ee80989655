/** A delivery: extended until it is acknowledged, rejected or lost. */
import { now } from './clock.js';
import { Extender } from './extender.js';
import { Lease } from './lease.js';
import { fromContract, pathOf, reasonOf, toContract } from './names.js';
import { Problem } from './problem.js';

const ENDED = new Set(['receipt_expired', 'message_cancelled']);
const SURE_SHARE = 1 / 3; // of the visibility, that has to be left for sure

export class Message extends Lease {
  #path;
  #queuePath;
  #extender;
  #visibilityMs;
  #isDoubtful = false;
  #settling = Promise.resolve();

  constructor(client, queue, reply, visibilityMs) {
    super(client, visibilityMs);
    this.#queuePath = pathOf('queues', queue);
    this.#path = pathOf('queues', queue, 'deliveries', reply.receipt);
    this.#visibilityMs = visibilityMs;
    this._isSettled = false;
    this.queue = queue;
    this.id = reply.id;
    this.receipt = reply.receipt;
    this.body = reply.body;
    this.receives = reply.receives;
    this.priority = reply.priority;
    this.sentAtMs = reply.sent_at_ms;
    this.traceparent = reply.traceparent ?? null;
    this.headers = reply.headers ?? {};
    this.group = reply.group ?? null;
    this.schedule = reply.schedule ? fromContract(reply.schedule) : null;
    this.dedupeId = reply.dedupe_id ?? null;
    this.deadFrom = reply.dead_from ?? null;
    this.sequence = reply.sequence;
  }

  _problem(detail) {
    return new Problem(0, { code: 'receipt_expired', effect: 'none', detail: `'${this.id}': ${detail}` });
  }

  /**
   * Keeps a delivery that began after `began`. When little of it is left for sure, an extension
   * comes first; false: it had ended.
   */
  async _begin(began, maxWorkMs, { isSure = true, ...options } = {}) {
    const until = now() + maxWorkMs;
    const expires = Lease.expiry(began, this.#visibilityMs);
    if (isSure && expires - now() >= this.#visibilityMs * SURE_SHARE) {
      this._keep(expires, until);
      return true;
    }
    try {
      await this.#extend(this.#visibilityMs, undefined, options);
    } catch (problem) {
      if (!ENDED.has(problem?.code)) {
        throw problem;
      }
      return false;
    }
    this._keep(undefined, until);
    return true;
  }

  #extend(visibilityMs, progress, options) {
    const body = { visibility_ms: visibilityMs, progress };
    const send = (more) => this._client.request('POST', `${this.#path}/extend`, body, more);
    return this._extend(send, visibilityMs, options);
  }

  /** Together with others of its queue. */
  _renew(visibilityMs, timeoutMs) {
    const send = (options) => this.#extender.extend(this, visibilityMs, options.timeoutMs);
    return this._extend(send, visibilityMs, { timeoutMs });
  }

  _keep(expires, until) {
    super._keep(expires, until);
    this.#extender = Extender.of(this._client, this.#queuePath);
    this.#extender.add(this);
  }

  _end() {
    super._end();
    this.#extender?.delete(this);
  }

  async extend(visibilityMs = this.#visibilityMs, progress = undefined, options = {}) {
    if (this._isOver || this._isSettled) {
      return false;
    }
    try {
      await this.#extend(visibilityMs, progress, options);
    } catch (problem) {
      if (!ENDED.has(problem?.code)) {
        throw problem;
      }
      return false;
    }
    this._keep();
    return true;
  }

  acknowledge(result, { late, ...options } = {}) {
    return this.#settle('acknowledged', async () => {
      if (result === undefined || result === null) {
        await this._client.request('DELETE', this.#path, undefined, { ...options, query: late ? { late } : undefined });
        return true;
      }
      const body = { complete: [{ receipt: this.receipt, result }], late };
      const answer = await this._client.request('POST', `${this.#queuePath}/settle`, body, { ...options, key: '' });
      return answer.body.deliveries[0].outcome === 'acknowledged';
    });
  }

  reject(delayMs, { reason, dead, counted, late, ...options } = {}) {
    return this.#settle('rejected', async () => {
      const body = toContract({ delayMs, reason: reason && reasonOf(reason), dead, counted, late });
      await this._client.request('POST', `${this.#path}/reject`, body, options);
      return true;
    });
  }

  /**
   * One after the other. One that failed may be repeated: until then the delivery is not extended
   * any more. One that succeeded makes each later one false, without a request.
   */
  #settle(outcome, send) {
    const settling = this.#settling.then(() => !this._isSettled && this._ending(() => this.#send(outcome, send)));
    this.#settling = settling.catch(() => {});
    return settling;
  }

  async #send(outcome, send) {
    let isCurrent;
    try {
      isCurrent = await send();
    } catch (problem) {
      if (!ENDED.has(problem?.code)) {
        this.#isDoubtful ||= problem?.effect === 'unknown' && outcome === 'rejected';
        this._keep(undefined, now());
        throw problem;
      }
      // An attempt without an answer has rejected it, in this call or an earlier one.
      isCurrent = outcome === 'rejected' && (problem.repeated || this.#isDoubtful);
    }
    if (!isCurrent) {
      this._lose();
      return false;
    }
    this._isSettled = true;
    this._end();
    return true;
  }

  /** Resolves when no call of `acknowledge` or `reject` is under way. */
  _settled() {
    return this.#settling;
  }
}

if (Symbol.asyncDispose) {
  /** What was not settled is returned. */
  Message.prototype[Symbol.asyncDispose] = async function dispose() {
    await this._settled();
    if (!this._isSettled && !this.lost.aborted) {
      await this.reject(undefined, { reason: 'it was not settled' });
    }
  };
}
