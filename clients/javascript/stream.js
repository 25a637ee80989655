/** A stream of the daemon's server-sent events, which is closed at once. */
import { PAUSE_MAX_MS, PAUSE_MS, jitter, now, sleep, startTimer } from './clock.js';
import { Problem, mayPass } from './problem.js';

export class Stream {
  #closed = new AbortController();
  #signal;
  #abort = () => this.#closed.abort(this.#signal.reason);
  #chunks;

  /**
   * Opens one, and reads to its first event of `type`, within `timeoutMs`. `signal` closes the
   * stream; later on it is silent for at most `silenceMs`.
   */
  static async open(client, call, { type, timeoutMs, silenceMs, signal }) {
    signal.throwIfAborted();
    const stream = new Stream();
    stream.#signal = signal;
    signal.addEventListener('abort', stream.#abort);
    const timer = startTimer(() => stream.close(new Error(`no event '${type}' came in time`)), timeoutMs);
    try {
      stream.#chunks = await client._stream(call, timeoutMs, stream.#closed.signal);
      stream.events = stream.#read(silenceMs);
      for (;;) {
        const event = (await stream.events.next()).value;
        if (event?.type === type) {
          stream.first = event;
          return stream;
        }
      }
    } catch (problem) {
      stream.close();
      throw problem;
    } finally {
      clearTimeout(timer);
    }
  }

  /** From now on the signal does not close it. */
  detach() {
    this.#signal.removeEventListener('abort', this.#abort);
  }

  close(reason = undefined) {
    this.detach();
    this.#closed.abort(reason);
  }

  /** Events, and null for a comment. Throws when the stream ends, or is silent for `silenceMs`. */
  async *#read(silenceMs) {
    const decoder = new TextDecoder();
    const silent = () => this.close(new Error(`nothing came for ${silenceMs} ms`));
    let rest = '';
    let event = {};
    let timer = startTimer(silent, silenceMs);
    try {
      for await (const chunk of this.#chunks) {
        clearTimeout(timer); // a slow program is not a silent daemon
        const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
        rest = lines.pop();
        for (const line of lines) {
          if (line.startsWith(':')) {
            yield null;
          } else if (line !== '') {
            add(event, line);
          } else if (event.data !== undefined) {
            yield { type: event.type ?? 'message', data: JSON.parse(event.data) };
            event = {};
          }
        }
        timer = startTimer(silent, silenceMs);
      }
      throw new Error('the daemon has ended the stream');
    } finally {
      clearTimeout(timer);
      this.close();
    }
  }
}

function add(event, line) {
  const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
  if (name === 'data') {
    event.data = event.data === undefined ? value : `${event.data}\n${value}`;
  } else if (name === 'event') {
    event.type = value;
  }
}

/** Repeats an attempt to open a stream, until it succeeds, is refused, or `deadline` has passed. */
export async function connected(client, attempt, { deadline = Infinity, waitMs = 0, signal, outage }) {
  const attemptMs = Math.min(client.attemptMs, client.timeoutMs / 3) + waitMs;
  for (let step = PAUSE_MS; ; step = Math.min(step * 2, PAUSE_MAX_MS)) {
    try {
      const stream = await attempt(Math.min(attemptMs, deadline - now()));
      outage?.over();
      return stream;
    } catch (cause) {
      signal.throwIfAborted();
      const lost = { code: 'no_connection', detail: cause.message, effect: 'none' };
      const problem = cause instanceof Problem ? cause : new Problem(0, lost, null, { cause });
      const pause = jitter(step) + (problem.retryAfter ?? 0) * 1000;
      if (!mayPass(problem) || now() + pause >= deadline) {
        throw problem;
      }
      outage?.failed(problem);
      await sleep(pause, signal);
    }
  }
}
