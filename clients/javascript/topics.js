/** Listens to topics: an async iterator that connects again, and yields a gap then. */
import { Outage, now } from './clock.js';
import { Stream, connected } from './stream.js';

const SILENCE_MS = 45000; // the daemon sends a comment each 15 s

export class Listener {
  #client;
  #path;
  #signal;
  #abort = () => this.#closed.abort(this.#signal.reason);
  #closed = new AbortController();
  #incoming;
  #events = this.#all();
  #outage;

  constructor(client, names, signal) {
    this.#client = client;
    this.#path = `/topics/stream?${new URLSearchParams(names.map((name) => ['name', name]))}`;
    this.#signal = signal;
    this.#outage = new Outage(`listening to ${names.join(', ')}`, client._warn);
  }

  /** Resolves when it listens: each message comes from now on. */
  async _open() {
    this.#signal?.throwIfAborted();
    this.#signal?.addEventListener('abort', this.#abort);
    try {
      await this.#connect(now() + this.#client.timeoutMs);
    } catch (problem) {
      this.close();
      throw problem;
    }
  }

  close() {
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#closed.abort();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    return this.#events.next();
  }

  return() {
    this.close();
    return this.#events.return();
  }

  async #connect(deadline = Infinity) {
    const { signal } = this.#closed;
    const call = this.#client._call('GET', this.#path);
    const attempt = (timeoutMs) => {
      return Stream.open(this.#client, call, { type: 'listening', timeoutMs, silenceMs: SILENCE_MS, signal });
    };
    const stream = await connected(this.#client, attempt, { deadline, signal, outage: this.#outage });
    this.#incoming = stream.events;
  }

  async *#all() {
    for (;;) {
      try {
        yield* this.#connection();
      } catch {
        // It is closed, or broken.
      }
      if (this.#closed.signal.aborted) {
        this.#signal?.throwIfAborted();
        return;
      }
      await this.#connect();
      yield { type: 'gap' };
    }
  }

  async *#connection() {
    for await (const event of this.#incoming) {
      if (event?.type === 'message') {
        const { topic, published_at_ms: publishedAtMs, body } = event.data;
        yield { type: 'message', topic, publishedAtMs, body };
      } else if (event?.type === 'gap') {
        yield { type: 'gap' };
      } else if (event?.type === 'closing') {
        return;
      }
    }
  }
}

if (Symbol.asyncDispose) {
  Listener.prototype[Symbol.asyncDispose] = async function dispose() {
    this.close();
  };
}
