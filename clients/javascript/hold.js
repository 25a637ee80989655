/** A lock that the daemon extends for as long as the connection lives. */
import { now } from './clock.js';
import { pathOf } from './names.js';
import { LockLost } from './problem.js';
import { Stream, connected } from './stream.js';

const TTL_MS = 10000; // the daemon's, where none is given
const SILENT_SHARE = 2 / 3; // of ttl_ms; the daemon sends a comment each third of it

export class Hold {
  #client;
  #path;
  #silenceMs;
  #lost = new AbortController();
  #stream;
  #token;
  #isReleased = false;

  constructor(client, name, ttlMs = TTL_MS) {
    this.#client = client;
    this.#path = pathOf('locks', name);
    this.#silenceMs = ttlMs * SILENT_SHARE;
    this.name = name;
  }

  get lost() {
    return this.#lost.signal;
  }

  /** An attempt that breaks has released the lock, so it can be repeated. */
  async _acquire(body, signal = new AbortController().signal) {
    signal.throwIfAborted();
    const waitMs = body.wait_ms ?? 0;
    const deadline = now() + this.#client.timeoutMs + waitMs;
    const call = this.#client._call('POST', `${this.#path}/hold`, body);
    const attempt = (timeoutMs) => {
      return Stream.open(this.#client, call, { type: 'acquired', timeoutMs, silenceMs: this.#silenceMs, signal });
    };
    this.#stream = await connected(this.#client, attempt, { deadline, waitMs, signal });
    this.#stream.detach(); // the signal ends the waiting, not the lock
    const { fence, token } = this.#stream.first.data;
    this.fence = fence;
    this.#token = token;
    this.#follow(this.#stream.events);
  }

  async #follow(events) {
    let why = 'the daemon has ended the stream';
    try {
      for await (const event of events) {
        if (event) {
          why = `${event.type}: ${event.data.detail ?? event.data.reason}`;
        }
      }
    } catch (error) {
      why = error.message;
    }
    if (!this.#isReleased) {
      this.#lost.abort(this.#problem(why));
    }
  }

  #problem(detail) {
    return new LockLost(0, { code: 'not_holder', effect: 'none', detail: `'${this.name}': ${detail}` });
  }

  /** It is free when this returns. The end of the connection frees it, too. */
  async release(options) {
    if (this.#isReleased) {
      return;
    }
    this.#isReleased = true;
    try {
      if (this.lost.aborted) {
        throw this.lost.reason;
      }
      const headers = { 'Lock-Token': this.#token };
      await this.#client.request('DELETE', this.#path, undefined, { ...options, headers });
    } catch (problem) {
      options?.signal?.throwIfAborted();
      if (problem.code === 'not_holder' && !problem.repeated) {
        this.#lost.abort(problem);
        throw problem;
      }
    } finally {
      this.#stream.close();
    }
  }
}

if (Symbol.asyncDispose) {
  Hold.prototype[Symbol.asyncDispose] = Hold.prototype.release;
}
