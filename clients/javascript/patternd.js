/**
 * Client of patternd: locks, queues, rate limits and caches in Redis, over HTTP/JSON, by fetch.
 *
 * A request that failed is repeated by what its failure did. Effect `none` (503, no connection):
 * again after Retry-After, or a growing random pause. Effect `unknown` (504, a broken connection):
 * the same request with the same Idempotency-Key. Any other failure, and the end of the time, throw
 * `Problem`. Types and descriptions are in patternd.d.ts.
 */
const PAUSE_MS = 50;
const PAUSE_MAX_MS = 2000;
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);
const NODE_CRYPTO = 'node:crypto'; // not a literal of import(), which bundlers would look for

const now = () => performance.now();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const jitter = (ms) => ms * (0.5 + Math.random() / 2);

/** The members of an object, named in the contract's form, or back; without undefined ones. */
const renamed = (members, pattern, rename) =>
  Object.fromEntries(
    Object.entries(members ?? {})
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name.replace(pattern, rename), value]),
  );
const toContract = (members) => renamed(members, /[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const fromContract = (members) => renamed(members, /_([a-z])/g, (_, letter) => letter.toUpperCase());

/** At most 1000 bytes, without half a character. */
const shortened = (text) => text && [...text].slice(0, 250).join('');

function pathOf(...parts) {
  if (parts.some((part) => part === '.' || part === '..')) {
    throw new Problem(0, { code: 'reserved_name', detail: "'.' and '..' are reserved", effect: 'none' });
  }
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}

/** Browsers have crypto.randomUUID only in secure contexts, Node.js 18 has no global crypto. */
async function makeKey() {
  const crypto = globalThis.crypto ?? (await import(NODE_CRYPTO)).webcrypto;
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export class Problem extends Error {
  constructor(status, body, retryAfter = null, options = undefined) {
    super(`${body.code}: ${body.detail ?? body.title}`, options);
    this.name = new.target.name;
    this.status = status;
    this.body = body;
    this.code = body.code;
    this.detail = body.detail ?? '';
    this.effect = body.effect ?? 'unknown';
    this.retryAfter = retryAfter;
    this.repeated = false;
  }
}

export class LockHeld extends Problem {}
export class LockLost extends Problem {}

const KINDS = new Map([
  ['lock_held', LockHeld],
  ['not_holder', LockLost],
]);

/** Throws a problem where the status is one. */
function judge(status, headers, text, began, lost) {
  let body = text || null;
  if (text && headers.get('Content-Type')?.includes('json')) {
    body = JSON.parse(text);
  }
  if (status < 400) {
    return { status, headers, body, sent: began };
  }
  if (!body?.code) {
    body = { code: `status_${status}`, detail: text, effect: status >= 500 ? lost : 'none' }; // of a proxy between
  }
  const seconds = headers.get('Retry-After');
  throw new (KINDS.get(body.code) ?? Problem)(status, body, /^\d+$/.test(seconds) ? Number(seconds) : null);
}

export class Client {
  #base;
  #token;

  constructor(url, { token = null, timeoutMs = 30000, attemptMs = 5000 } = {}) {
    const { protocol, origin, pathname } = new URL(url);
    if (protocol !== 'http:' && protocol !== 'https:') {
      throw new TypeError(`'${url}' is not http://HOST:PORT or https://HOST:PORT`);
    }
    this.#base = origin + pathname.replace(/\/+$/, '');
    this.#token = token;
    this.timeoutMs = timeoutMs;
    this.attemptMs = attemptMs;
  }

  async request(method, path, body, { query, headers, key, waitMs = 0, timeoutMs = this.timeoutMs } = {}) {
    const sent = new Headers(headers);
    const url = new URL(this.#base + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      [value].flat().forEach((one) => url.searchParams.append(name, one));
    }
    if (body !== undefined) {
      sent.set('Content-Type', 'application/json');
    }
    if (this.#token) {
      sent.set('Authorization', `Bearer ${this.#token}`);
    }
    if ((method === 'POST' || method === 'PATCH') && key !== '') {
      sent.set('Idempotency-Key', key ?? (await makeKey()));
      if (key === undefined) {
        // A key that is made here is of no use after the last attempt.
        sent.set('Idempotency-TTL-Ms', String(Math.round(timeoutMs + waitMs) + 30000));
      }
    }
    const init = { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body) };
    const deadline = now() + timeoutMs + waitMs;
    const attemptMs = Math.min(this.attemptMs, timeoutMs / 3) + waitMs;
    let isDoubtful = false;
    let isRepeatable = true;
    for (let step = PAUSE_MS; ; step = Math.min(step * 2, PAUSE_MAX_MS)) {
      try {
        return await this.#attempt(url, init, Math.min(attemptMs, deadline - now()));
      } catch (problem) {
        if (!(problem instanceof Problem)) {
          throw problem;
        }
        if (problem.code === 'idempotency_unavailable' && key === undefined && isRepeatable && !isDoubtful) {
          sent.delete('Idempotency-Key'); // a quorum of lock servers, or several slots
          isRepeatable = false;
          continue;
        }
        problem.repeated = isDoubtful;
        isDoubtful ||= problem.effect === 'unknown';
        const mayPass = [0, 502, 503, 504].includes(problem.status) || problem.code === 'request_in_progress';
        if (!{ unknown: isRepeatable, none: mayPass }[problem.effect]) {
          throw problem;
        }
        const pause = jitter(step) + (problem.retryAfter ?? 0) * 1000;
        if (now() + pause >= deadline) {
          problem.effect = isDoubtful ? 'unknown' : problem.effect;
          throw problem;
        }
        await sleep(pause);
      }
    }
  }

  async #attempt(url, init, timeoutMs) {
    const began = now();
    const lost = init.method === 'GET' || init.method === 'HEAD' ? 'none' : 'unknown';
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error('the answer did not come in time')), timeoutMs);
    let response, text;
    try {
      response = await fetch(url, { ...init, signal: abort.signal, redirect: 'error', credentials: 'omit' });
      text = await response.text();
    } catch (cause) {
      const why = cause?.cause ?? cause;
      const effect = UNSENT.has(why?.code) ? 'none' : lost;
      const detail = `${init.method} ${url.pathname}: ${why?.message || why?.code || why}`;
      throw new Problem(0, { code: 'no_connection', detail, effect }, null, { cause });
    } finally {
      clearTimeout(timer);
    }
    return judge(response.status, response.headers, text, began, lost);
  }

  async lock(name, { ttlMs = 30000, waitMs = 0, ...more } = {}, work = undefined) {
    const lock = new Lock(this, name, ttlMs);
    await lock._acquire(waitMs, toContract(more));
    if (!work) {
      return lock;
    }
    let result;
    try {
      result = await work(lock);
    } catch (error) {
      await lock.release().catch(() => {}); // what the work threw matters more
      throw error;
    }
    await lock.release();
    return result;
  }

  queue(name) {
    return new Queue(this, name);
  }

  async limit(key, options) {
    let reply;
    try {
      const more = { key: '', waitMs: options?.waitMs };
      reply = (await this.request('POST', '/ratelimit', toContract({ key, ...options }), more)).body;
    } catch (problem) {
      if (problem.code !== 'rate_limited') {
        throw problem;
      }
      reply = problem.body;
    }
    const { allowed, remaining, retryAfterMs, limit, windowMs, capacity, resetAfterMs, policy, degraded } =
      fromContract(reply);
    return { allowed, remaining, retryAfterMs, limit, windowMs, capacity, resetAfterMs, policy, degraded };
  }

  async cached(key, { ttlMs, fill, fillMs = 5000, jitterMs = 0 }) {
    const path = pathOf('cache', key);
    const deadline = now() + this.timeoutMs;
    let response;
    while (!response) {
      const waitMs = Math.min(Math.max(Math.floor(deadline - now()), 0), 60000);
      try {
        response = await this.request('POST', `${path}/fill`, { fill_ms: fillMs, wait_ms: waitMs }, { waitMs });
      } catch (problem) {
        const isAwaited = problem.code === 'cache_fill_in_progress' || problem.code === 'ticket_expired';
        if (!isAwaited || now() > deadline) {
          throw problem;
        }
        await sleep(jitter(PAUSE_MS)); // a daemon that stops lets none wait
      }
    }
    if (response.status === 200) {
      return response.body.value;
    }
    const value = await fill();
    const headers = { 'Fill-Ticket': response.body.ticket };
    const body = { value, ttl_ms: ttlMs, jitter_ms: jitterMs };
    try {
      await this.request('PUT', path, body, { headers, timeoutMs: response.body.ttl_ms });
    } catch (problem) {
      // A value that could not be stored is still the value.
      if (!(problem instanceof Problem) || (problem.status >= 400 && problem.status < 500 && problem.status !== 410)) {
        throw problem;
      }
    }
    return value;
  }
}

/**
 * Something that is extended until it ends or is lost; 1 % of its time is left to clocks that run
 * apart.
 */
class Lease {
  #lost = new AbortController();
  #timer;
  #timeMs;
  #extension;
  #headers;

  constructor(client, path, timeMs, extension = undefined) {
    this._client = client;
    this._path = path;
    this._isEnding = false;
    this.#timeMs = timeMs;
    this.#extension = extension;
  }

  get lost() {
    return this.#lost.signal;
  }

  _lose() {
    this.#lost.abort();
  }

  _keep(expires, until = Infinity, extension = this.#extension, headers = undefined) {
    this._expires = expires;
    this.#extension = extension;
    this.#headers = headers;
    this.#wait(Math.min(this.#timeMs, expires - now()) / 3, until);
  }

  _end() {
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  /**
   * When it ends. Without a key: its record would stay in Redis for a day, and twice does no harm.
   */
  async _extend(timeoutMs) {
    const options = { key: '', timeoutMs, headers: this.#headers };
    const { sent, body } = await this._client.request('POST', `${this._path}/extend`, this.#extension, options);
    return sent + (body.ttl_ms ?? this.#timeMs) * 0.99;
  }

  #wait(pause, until) {
    this.#timer = setTimeout(() => this.#renew(until), pause);
    this.#timer.unref?.();
  }

  async #renew(until) {
    let remaining = this._expires - now();
    let pause = remaining;
    try {
      if (remaining > 0 && now() < until) {
        this._expires = await this._extend(remaining);
        pause = this.#timeMs / 3;
      }
    } catch (problem) {
      const isOver = problem.code === 'not_holder' || problem.code === 'receipt_expired';
      remaining = isOver ? 0 : this._expires - now();
      pause = Math.min(remaining, Math.max(PAUSE_MS, Math.min(remaining / 4, PAUSE_MAX_MS)));
    }
    if (remaining > 0 && this.#timer) {
      this.#wait(pause, until);
    } else if (!this._isEnding) {
      this._lose();
    }
  }
}

export class Lock extends Lease {
  #headers;
  #ttlMs;

  constructor(client, name, ttlMs) {
    super(client, pathOf('locks', name), ttlMs);
    this.name = name;
    this.#ttlMs = ttlMs;
  }

  async _acquire(waitMs, more) {
    const body = { ttl_ms: this.#ttlMs, wait_ms: waitMs || undefined, ...more };
    const { body: granted, headers, sent } = await this._client.request('POST', this._path, body, { waitMs });
    this.fence = granted.fence;
    this.#headers = { 'Lock-Token': granted.token };
    const waited = headers.get('Idempotent-Replayed') ? 0 : granted.waited_ms;
    this._keep(sent + waited + granted.ttl_ms * 0.99, Infinity, { ttl_ms: this.#ttlMs }, this.#headers);
  }

  async release() {
    this._isEnding = true;
    this._end();
    const timeoutMs = this._expires - now();
    try {
      if (this.lost.aborted || timeoutMs <= 0) {
        throw new LockLost(0, { code: 'not_holder', effect: 'none', detail: `'${this.name}' has expired` });
      }
      await this._client.request('DELETE', this._path, undefined, { headers: this.#headers, timeoutMs });
    } catch (problem) {
      // Repeated: an attempt without an answer released it, and another client acquired it since.
      // A lock that cannot be released expires.
      if (problem.code === 'not_holder' && !problem.repeated) {
        this._lose();
        throw problem;
      }
    }
  }
}

export class Message extends Lease {
  constructor(client, queue, reply, visibilityMs) {
    super(client, pathOf('queues', queue, 'deliveries', reply.receipt), visibilityMs, { visibility_ms: visibilityMs });
    this.queue = queue;
    this.id = reply.id;
    this.body = reply.body;
    this.receives = reply.receives;
    this.priority = reply.priority;
    this.sentAtMs = reply.sent_at_ms;
    this.traceparent = reply.traceparent ?? null;
    this.headers = reply.headers ?? {};
  }

  acknowledge() {
    return this.#settle('DELETE', this._path);
  }

  reject(delayMs, { reason, dead } = {}) {
    return this.#settle('POST', `${this._path}/reject`, toContract({ delayMs, reason: shortened(reason), dead }));
  }

  async #settle(method, path, body) {
    if (this._isEnding) {
      return false;
    }
    this._isEnding = true; // it is extended as long as the request takes
    try {
      await this._client.request(method, path, body);
      return true;
    } catch (problem) {
      if (problem.code !== 'receipt_expired') {
        throw problem;
      }
      return problem.repeated && method === 'POST'; // an attempt without an answer has rejected it
    } finally {
      this._end();
    }
  }
}

if (Symbol.asyncDispose) {
  Lock.prototype[Symbol.asyncDispose] = Lock.prototype.release;
}

export class Queue {
  #client;
  #path;

  constructor(client, name) {
    this.name = name;
    this.#client = client;
    this.#path = pathOf('queues', name);
  }

  async send(body, options) {
    return (await this.sendMany([{ ...options, body }]))[0];
  }

  async sendMany(messages) {
    const withId = async (message) => ({ ...toContract(message), id: message.id || (await makeKey()) });
    const body = { messages: await Promise.all(messages.map(withId)) };
    const { body: sent } = await this.#client.request('POST', `${this.#path}/messages`, body, { key: '' });
    return sent.messages.map(fromContract).map((one, i) => ({ ...one, duplicate: one.duplicate && !!messages[i].id }));
  }

  async receive({ waitMs = 0, visibilityMs = 30000, maxWorkMs = 3600000, worker } = {}) {
    const body = { visibility_ms: visibilityMs, wait_ms: waitMs, worker };
    const response = await this.#client.request('POST', `${this.#path}/receive`, body, { waitMs });
    let expires = response.sent + visibilityMs * 0.99;
    for (const reply of response.body.messages) {
      const message = new Message(this.#client, this.name, reply, visibilityMs);
      try {
        // When it is not known how long the delivery has lasted, an extension makes it sure.
        if (response.headers.get('Idempotent-Replayed') || now() - response.sent > visibilityMs / 3) {
          expires = await message._extend(visibilityMs);
        }
      } catch (problem) {
        if (problem.code !== 'receipt_expired') {
          throw problem;
        }
        return null;
      }
      message._keep(expires, now() + maxWorkMs);
      return message;
    }
    return null;
  }

  async *messages({ stop, waitMs = stop ? 1000 : 20000, ...more } = {}) {
    while (!stop?.aborted) {
      const message = await this.receive({ waitMs, ...more });
      if (!message) {
        continue;
      }
      let isDone = false;
      try {
        yield message;
        isDone = true;
      } finally {
        if (!isDone) {
          await message.reject(undefined, { reason: 'the loop ended' }).catch(() => {}); // it comes again
        }
      }
      await message.acknowledge();
    }
  }
}
