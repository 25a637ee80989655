/** A lock that is extended until it is released. */
import { granted } from './give_up.js';
import { Lease } from './lease.js';
import { pathOf } from './names.js';
import { LockLost } from './problem.js';

export class Lock extends Lease {
  #path;
  #ttlMs;
  #headers;
  #isReleased = false;

  constructor(client, name, ttlMs) {
    super(client, ttlMs);
    this.#path = pathOf('locks', name);
    this.#ttlMs = ttlMs;
    this.name = name;
  }

  async _acquire(options, more) {
    const body = { ttl_ms: this.#ttlMs, wait_ms: options.waitMs || undefined, ...more };
    const call = await this._client._keyed('POST', this.#path, body, options);
    const release = ({ token }) => this._client._call('DELETE', this.#path, undefined, { 'Lock-Token': token });
    const releases = (answer) => [release(answer.body)];
    const response = await granted(this._client, call, { ...options, lastsMs: this.#ttlMs }, releases);
    const { body: grant, headers, sent } = response;
    this.fence = grant.fence;
    this.#headers = { 'Lock-Token': grant.token };
    const waited = headers.get('Idempotent-Replayed') ? 0 : grant.waited_ms;
    this._keep(Lease.expiry(sent + waited, grant.ttl_ms));
  }

  _renew(ttlMs, timeoutMs) {
    const send = (options) => {
      const more = { ...options, headers: this.#headers };
      return this._client.request('POST', `${this.#path}/extend`, { ttl_ms: ttlMs }, more);
    };
    return this._extend(send, ttlMs, { timeoutMs });
  }

  _problem(detail) {
    return new LockLost(0, { code: 'not_holder', effect: 'none', detail: `'${this.name}': ${detail}` });
  }

  async release({ timeoutMs = this._client.timeoutMs, signal } = {}) {
    if (this.#isReleased) {
      return;
    }
    const left = this._left;
    this._isEnding = true;
    this._end();
    try {
      if (left <= 0) {
        throw this._problem('it has expired');
      }
      const options = { headers: this.#headers, timeoutMs: Math.min(timeoutMs, left), signal };
      await this._client.request('DELETE', this.#path, undefined, options);
      this.#isReleased = true;
    } catch (problem) {
      signal?.throwIfAborted();
      // Repeated: an attempt without an answer released it, and another client acquired it since.
      // A lock that cannot be released expires.
      if (problem.code === 'not_holder' && !problem.repeated) {
        this._lose(problem);
        throw problem;
      }
    }
  }
}

if (Symbol.asyncDispose) {
  Lock.prototype[Symbol.asyncDispose] = Lock.prototype.release;
}
