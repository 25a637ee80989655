/**
 * The client: one call with all its attempts, and the calls that belong to no class.
 *
 * A request that failed is repeated by what its failure did. Effect `none` (503, no connection):
 * again after Retry-After, or a growing random pause. Effect `unknown` (504, a broken connection):
 * the same request with the same Idempotency-Key. Any other failure, and the end of the time, throw
 * `Problem`. Whatever ends a call early also closes its connection.
 */
import { Outage, PAUSE_MAX_MS, PAUSE_MS, jitter, now, sleep, startTimer } from './clock.js';
import { Hold } from './hold.js';
import { Lock } from './lock.js';
import { fromContract, makeKey, pathOf, toContract } from './names.js';
import { Problem, isPage, mayPass, problemOf } from './problem.js';
import { Queue } from './queue.js';
import { Listener } from './topics.js';
import { openTransport } from './transport.js';

const WAIT_MAX_MS = 60000;

function targetOf(path, query) {
  const given = Object.entries(query ?? {}).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const text = new URLSearchParams(given.filter(([, value]) => value !== undefined)).toString();
  return text ? `${path}${path.includes('?') ? '&' : '?'}${text}` : path;
}

function parsed(headers, text) {
  return text && headers.get('Content-Type')?.includes('json') ? JSON.parse(text) : text || null;
}

const env = globalThis.process?.env ?? {};

export class Client {
  #url;
  #token;
  #files;
  #transport;

  constructor(url = env.PATTERND_URL || 'http://127.0.0.1:8379', options = {}) {
    const { token = env.PATTERND_TOKEN, timeoutMs = 30000, attemptMs = 5000, caFile, certFile, keyFile } = options;
    this.#url = new URL(url);
    if (!['http:', 'https:', 'http+unix:'].includes(this.#url.protocol) || !this.#url.host) {
      throw new TypeError(`'${url}' is not http://HOST:PORT, https://... or http+unix://%2Fpath%2Fof%2Fsocket`);
    }
    this.#token = token;
    this.#files = { ca: caFile, cert: certFile, key: keyFile };
    this.timeoutMs = timeoutMs;
    this.attemptMs = attemptMs;
    const warn = options.warn ?? ((text, ...more) => console.warn(`patternd: ${text}`, ...more));
    this._warn = async (...told) => {
      try {
        await warn(...told);
      } catch {
        // What warns is in the middle of its work, which matters more.
      }
    };
    this._outage = new Outage(`the connection to ${url}`, this._warn);
  }

  /** Closes idle connections; the client can be used again. */
  close() {
    this.#transport?.then((transport) => transport.close()).catch(() => {}); // what was not opened
  }

  async request(method, path, body, options = {}) {
    return this._repeated(await this._keyed(method, path, body, options), options);
  }

  /** A call with its key. */
  async _keyed(method, path, body, { query, headers, key, waitMs = 0, timeoutMs = this.timeoutMs }) {
    const call = this._call(method, targetOf(path, query), body, headers);
    if ((method === 'POST' || method === 'PATCH') && key !== '') {
      call.headers['Idempotency-Key'] = key ?? (await makeKey());
      call.isKeyMade = key === undefined;
      if (call.isKeyMade) {
        // It is of no use after the last attempt.
        call.headers['Idempotency-TTL-Ms'] = String(Math.round(timeoutMs + waitMs) + 30000);
      }
    }
    return call;
  }

  /** The answer of the attempt that succeeds. Another one may have, if `isDoubtful` of the call. */
  async _repeated(call, { waitMs = 0, timeoutMs = this.timeoutMs, firstMs, signal }) {
    const deadline = now() + timeoutMs + waitMs;
    let mostMs = firstMs ?? Math.min(this.attemptMs, timeoutMs / 3) + waitMs;
    let isRepeatable = true;
    for (let step = PAUSE_MS; ; step = Math.min(step * 2, PAUSE_MAX_MS)) {
      try {
        return await this._attempt(call, Math.min(mostMs, deadline - now()), signal);
      } catch (problem) {
        if (signal?.aborted || !(problem instanceof Problem)) {
          throw problem;
        }
        if (problem.code === 'idempotency_unavailable' && call.isKeyMade && isRepeatable && !call.isDoubtful) {
          delete call.headers['Idempotency-Key']; // a quorum of lock servers, or several slots
          isRepeatable = false;
          continue;
        }
        problem.repeated = call.isDoubtful;
        call.isDoubtful ||= problem.effect === 'unknown';
        if (!{ unknown: isRepeatable, none: mayPass(problem) }[problem.effect]) {
          throw problem;
        }
        const pause = jitter(step) + (problem.retryAfter ?? 0) * 1000;
        if (now() + pause >= deadline) {
          problem.effect = call.isDoubtful ? 'unknown' : problem.effect;
          throw problem;
        }
        await sleep(pause, signal, call.isBackground);
        mostMs *= firstMs ? 2 : 1;
      }
    }
  }

  /** A `null` is sent as a request without a body, as in Python. */
  _call(method, path, body, headers) {
    const sent = { ...headers };
    const text = JSON.stringify(body ?? undefined);
    if (text !== undefined) {
      if (/^(get|head)$/i.test(method)) {
        throw new TypeError(`${method} has no body: query and headers are in the fourth argument`); // as fetch does
      }
      sent['Content-Type'] = 'application/json';
    }
    if (this.#token) {
      sent.Authorization = `Bearer ${this.#token}`;
    }
    return { method, path, headers: sent, body: text, isDoubtful: false };
  }

  /** One attempt: the answer, with when it began, or a problem. */
  async _attempt(call, timeoutMs, signal) {
    const began = now();
    const { status, headers, body } = await this.#exchange(call, timeoutMs, signal, async (head) => {
      return { ...head, body: parsed(head.headers, await head.text()) };
    });
    if ((status >= 300 && status !== 304) || isPage(headers)) {
      throw problemOf(status, headers, body, lostOf(call));
    }
    return { status, headers, body, sent: began };
  }

  /** The chunks of an answer that does not end, whose head comes within `timeoutMs`. */
  async _stream(call, timeoutMs, signal) {
    const { status, headers, body, chunks } = await this.#exchange(call, timeoutMs, signal, async (head) => {
      const isStream = head.status < 300 && !isPage(head.headers);
      return isStream ? head : { ...head, chunks: null, body: parsed(head.headers, await head.text()) };
    });
    if (!chunks) {
      throw problemOf(status, headers, body, 'none');
    }
    return chunks();
  }

  async #exchange(call, timeoutMs, signal, read) {
    const transport = await (this.#transport ??= openTransport(this.#url, this.#files));
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort(signal.reason);
    const late = () => controller.abort(new Error('the answer did not come in time'));
    const timer = startTimer(late, timeoutMs, call.isBackground);
    signal?.addEventListener('abort', abort);
    const sent = { ...call, signal: controller.signal };
    let isStream = false;
    try {
      const answer = await read(await transport.exchange(sent));
      isStream = answer.body === undefined;
      if (!call.isBackground) {
        this._outage.over();
      }
      return answer;
    } catch (cause) {
      controller.abort(cause);
      const isUnsent = sent.isSent === false;
      if (signal?.aborted) {
        call.isDoubtful ||= !isUnsent;
        throw signal.reason;
      }
      const problem = this.#broken(call, cause, isUnsent ? 'none' : lostOf(call));
      if (isUnsent && !call.isBackground) {
        this._outage.failed(problem);
      }
      throw problem;
    } finally {
      clearTimeout(timer);
      if (!isStream) {
        signal?.removeEventListener('abort', abort);
      }
    }
  }

  #broken({ method, path }, cause, effect) {
    const why = cause?.cause ?? cause;
    const detail = `${method} ${path}: ${why?.message || why?.code || why}`;
    return new Problem(0, { code: 'no_connection', detail, effect }, null, { cause });
  }

  /** What a request for JSON answers, in JavaScript's names. */
  async _ask(method, path, body, options) {
    return fromContract((await this.request(method, path, body, options)).body);
  }

  async _delete(path, options) {
    try {
      await this.request('DELETE', path, undefined, options);
    } catch (problem) {
      // Repeated: an attempt without an answer has deleted it.
      if (problem?.code !== 'not_found' || !problem.repeated) {
        throw problem;
      }
    }
  }

  async *_items(path, options) {
    for (let cursor; cursor !== null; ) {
      const page = await this._ask('GET', path, undefined, { ...options, query: { ...options?.query, cursor } });
      yield* page.items;
      cursor = page.nextCursor;
    }
  }

  async lock(name, { ttlMs = 30000, waitMs = 0, signal, timeoutMs, ...more } = {}, work = undefined) {
    const lock = new Lock(this, name, ttlMs);
    await lock._acquire({ waitMs, signal, timeoutMs }, toContract(more));
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

  async hold(name, { signal, ...more } = {}) {
    const hold = new Hold(this, name, more.ttlMs);
    await hold._acquire(toContract(more), signal);
    return hold;
  }

  queue(name) {
    return new Queue(this, name);
  }

  async limit(key, { signal, timeoutMs, ...options } = {}) {
    let reply;
    try {
      const more = { key: '', waitMs: options.waitMs, signal, timeoutMs };
      reply = (await this.request('POST', '/ratelimit', toContract({ key, ...options }), more)).body;
    } catch (problem) {
      if (problem?.code !== 'rate_limited') {
        throw problem;
      }
      reply = problem.body;
    }
    const { allowed, remaining, retryAfterMs, limit, windowMs, capacity, resetAfterMs, policy, degraded } =
      fromContract(reply);
    return { allowed, remaining, retryAfterMs, limit, windowMs, capacity, resetAfterMs, policy, degraded };
  }

  policies(options) {
    return this._items('/ratelimit/policies', options);
  }

  getPolicy(name, options) {
    return this._ask('GET', `/ratelimit/policies${pathOf(name)}`, undefined, options);
  }

  putPolicy(name, policy, options) {
    return this._ask('PUT', `/ratelimit/policies${pathOf(name)}`, toContract(policy), options);
  }

  patchPolicy(name, changes, options) {
    return this._ask('PATCH', `/ratelimit/policies${pathOf(name)}`, toContract(changes), options);
  }

  deletePolicy(name, options) {
    return this._delete(`/ratelimit/policies${pathOf(name)}`, options);
  }

  publish(topic, body, options) {
    return this._ask('POST', pathOf('topics', topic), { body }, options);
  }

  async listen(names, { signal } = {}) {
    const listener = new Listener(this, [names].flat(), signal);
    await listener._open();
    return listener;
  }

  async cached(key, { ttlMs, fill, fillMs = 5000, jitterMs = 0, signal }) {
    const path = pathOf('cache', key);
    const deadline = now() + this.timeoutMs;
    let response;
    while (!response) {
      response = await this.#ticket(`${path}/fill`, fillMs, deadline, signal);
    }
    if (response.status === 200) {
      return response.body.value;
    }
    const value = await fill();
    const headers = { 'Fill-Ticket': response.body.ticket };
    const body = { value, ttl_ms: ttlMs, jitter_ms: jitterMs };
    try {
      await this.request('PUT', path, body, { headers, timeoutMs: Math.min(response.body.ttl_ms, this.timeoutMs) });
    } catch (problem) {
      // A value that could not be stored is still the value.
      if (!(problem instanceof Problem) || (problem.status >= 400 && problem.status < 500 && problem.status !== 410)) {
        throw problem;
      }
    }
    return value;
  }

  /** The value, or the ticket to make it; or nothing: another caller's `fill` failed. */
  async #ticket(path, fillMs, deadline, signal) {
    const left = Math.max(deadline - now(), 1);
    const waitMs = Math.floor(Math.min(Math.max(left - this.attemptMs, left / 2), WAIT_MAX_MS));
    const options = { waitMs, timeoutMs: left - waitMs, signal };
    try {
      return await this.request('POST', path, { fill_ms: fillMs, wait_ms: waitMs }, options);
    } catch (problem) {
      const isAwaited = ['cache_fill_in_progress', 'ticket_expired'].includes(problem?.code);
      if (!isAwaited || now() > deadline) {
        throw problem;
      }
      await sleep(jitter(PAUSE_MS), signal); // a daemon that stops lets none wait
      return null;
    }
  }
}

/** The effect of a request that was sent and not answered. */
const lostOf = ({ method }) => (method === 'GET' || method === 'HEAD' ? 'none' : 'unknown');
