/**
 * The loop behind `queue.work` (docs/adr/0029-work.md). The receiver makes turns: one request
 * settles all outcomes so far, and receives what there is room for. `concurrency` handlers take
 * messages in their order. outcomes.js settles what no turn takes.
 */
import { Outage, PAUSE_MS, jitter, now, sleep, startTimer } from './clock.js';
import { Message } from './message.js';
import { pathOf, workerOf } from './names.js';
import { Outcomes, done, isFinal, rejected, retryAfterMs, returned, rowsOf } from './outcomes.js';
import { Problem } from './problem.js';
import { onSignals } from './signals.js';

const AHEAD_MS = 500;
const GRACE_MS = 500; // of a turn that may not be waiting yet: what it takes is on its way
const RETURN_MS = 2000; // for sending what is left, after `drainMs`
const PAUSE_MAX_MS = 5000;
const ROWS_MAX = 100;

const isGeneratorFunction = (f) => Object.prototype.toString.call(f).includes('Generator');

function checked(handler, { concurrency }) {
  if (typeof handler !== 'function') {
    throw new TypeError('work needs a function, which handles a message');
  }
  if (isGeneratorFunction(handler) || handler.length > 1) {
    throw new TypeError('the handler must return when its work is done, or a promise: no generator, no callback');
  }
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new RangeError(`concurrency is ${concurrency}; it must be an integer, and at least 1`);
  }
  return handler;
}

export class Work {
  #client;
  #name;
  #path;
  #handler;
  #options;
  #outage;
  #outcomes;
  #waiting = [];
  #running = new Set();
  #beginning = new Set(); // a controller for each first extension: Node.js warns of many listeners to one signal
  #meanMs = Infinity;
  #pauseMs = PAUSE_MS;
  #failure = null;
  #isSignalled = false;
  #isHurried = false; // what runs goes back, too
  #turnBegan = -Infinity;
  #stopped = new AbortController(); // no handler begins
  #closed = new AbortController(); // no turn waits
  #ended = new AbortController(); // nothing is sent
  #limit;
  #wake = () => {};

  constructor(client, name, handler, options) {
    const { concurrency = 4, waitMs = 20000, visibilityMs = 30000, maxWorkMs = 3600000, drainMs = 7000 } = options;
    const { stop, worker, signals = true } = options;
    this.#client = client;
    this.#name = name;
    this.#path = pathOf('queues', name);
    this.#handler = checked(handler, { concurrency });
    // A delivery begins after its request was sent. So half of it is left when its answer comes.
    const turnMs = Math.min(waitMs, Math.floor(visibilityMs / 2));
    this.#options = { concurrency, waitMs: turnMs, visibilityMs, maxWorkMs, drainMs, worker, stop, signals };
    this.#outage = new Outage(`receiving from queue '${name}'`, client._warn);
    this.#outcomes = new Outcomes(client, name, {
      tell: (...told) => this.#tell(...told),
      changed: () => this.#wake(),
      ended: this.#ended.signal,
    });
  }

  async run() {
    const { stop, signals } = this.#options;
    const end = () => this.#stop();
    const ignore = signals ? onSignals(() => this.#signalled()) : () => {};
    stop?.addEventListener('abort', end);
    try {
      if (!stop?.aborted) {
        await this.#receive();
      }
    } catch (error) {
      this.#fail(error);
    }
    await this.#drain();
    stop?.removeEventListener('abort', end);
    ignore();
    if (this.#failure) {
      throw this.#failure.error;
    }
  }

  // The receiver

  async #receive() {
    this.#options.worker = await workerOf(this.#options.worker);
    while (!this.#stopped.signal.aborted) {
      if (!this.#wantsTurn()) {
        await this.#changed();
        continue;
      }
      try {
        await this.#turn();
        this.#outage.over();
        this.#pauseMs = PAUSE_MS;
      } catch (problem) {
        if (this.#closed.signal.aborted) {
          return;
        }
        if (isFinal(problem)) {
          throw problem;
        }
        await this.#pause(problem);
      }
    }
  }

  async #pause(problem) {
    // One outage is one warning: the client's own outage is about the connection.
    (problem.code === 'no_connection' ? this.#client._outage : this.#outage).failed(problem);
    const pause = jitter(this.#pauseMs) + retryAfterMs(problem);
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MAX_MS);
    await this.#sleep(pause);
  }

  /** Ends at a stop. */
  #sleep(ms) {
    return sleep(ms, this.#stopped.signal).catch(() => {});
  }

  #changed() {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** How many messages all handlers together begin within AHEAD_MS. */
  #ahead() {
    const { concurrency, visibilityMs } = this.#options;
    const ms = Math.min(AHEAD_MS, visibilityMs / 10);
    return Math.min(Math.floor((concurrency * ms) / Math.max(this.#meanMs, 0.001)), ROWS_MAX);
  }

  #room() {
    const held = this.#waiting.length + this.#running.size;
    return Math.min(Math.max(this.#options.concurrency + this.#ahead() - held, 0), ROWS_MAX);
  }

  /** Batches are as large as half of what is held ahead, unless a handler would wait. */
  #wantsTurn() {
    return this.#room() > (this.#waiting.length ? Math.floor(this.#ahead() / 2) : 0);
  }

  async #turn() {
    const { waitMs, visibilityMs, worker } = this.#options;
    const limit = this.#room();
    const outcomes = this.#outcomes.take();
    const body = { limit, wait_ms: waitMs, visibility_ms: visibilityMs, worker };
    if (outcomes.length) {
      body.settle = rowsOf(outcomes);
    }
    const call = this.#client._call('POST', `${this.#path}/receive`, body);
    this.#turnBegan = now();
    const answer = await this.#outcomes.sending(outcomes, () => {
      return this.#client._attempt(call, this.#client.attemptMs + waitMs, this.#closed.signal);
    });
    if (!answer) {
      return; // a row was refused
    }
    const { messages = [], unreceived } = answer.body;
    messages.forEach((reply) => this.#received(reply, answer.sent));
    this.#begin();
    if (messages.length === 0 && now() - answer.sent < PAUSE_MS) {
      await this.#sleep(jitter(PAUSE_MS)); // a daemon that stops lets none wait
    }
    if (unreceived) {
      throw new Problem(503, { detail: 'the receive failed after it settled', ...unreceived });
    }
  }

  #received(reply, sent) {
    const { visibilityMs, maxWorkMs } = this.#options;
    const message = new Message(this.#client, this.#name, reply, visibilityMs);
    const beginning = new AbortController();
    this.#beginning.add(beginning);
    const isCurrent = message
      ._begin(sent, maxWorkMs, { signal: beginning.signal })
      .catch(() => false)
      .finally(() => this.#beginning.delete(beginning));
    this.#waiting.push({ message, isCurrent });
  }

  // The handlers

  #begin() {
    while (!this.#stopped.signal.aborted && this.#waiting.length && this.#running.size < this.#options.concurrency) {
      const { message, isCurrent } = this.#waiting.shift();
      this.#running.add(message);
      this.#run(message, isCurrent).catch((error) => {
        this.#fail(error);
        this.#running.delete(message);
        this.#return(message);
        this.#wake();
      });
    }
  }

  async #run(message, isCurrent) {
    const outcome = await this.#outcomeOf(message, await isCurrent);
    // Otherwise it was returned at the limit of the stop.
    if (this.#running.delete(message)) {
      if (outcome && !message._isSettled) {
        this.#outcomes.add(outcome);
      } else {
        message._end();
      }
    }
    this.#begin();
    this.#wake();
  }

  #outcomeOf(message, isCurrent) {
    if (message._isOver) {
      return null; // what was lost while it waited is another worker's
    }
    if (this.#stopped.signal.aborted) {
      return returned(message);
    }
    return isCurrent ? this.#handle(message) : null;
  }

  async #handle(message) {
    const began = now();
    try {
      const result = await this.#handler(message);
      await message._settled();
      return done(message, result, (...told) => this.#tell(...told));
    } catch (error) {
      this.#tell(message, 'is rejected, since its handler failed:', error);
      return rejected(message, error);
    } finally {
      const ms = now() - began;
      this.#meanMs = this.#meanMs === Infinity ? ms : 0.8 * this.#meanMs + 0.2 * ms;
    }
  }

  #tell(message, what, ...more) {
    this.#client._warn(`message '${message.id}' of queue '${this.#name}' ${what}`, ...more);
  }

  // The end

  /** Ends the loop with an error, of the receiver or of a handler's slot. */
  #fail(error) {
    this.#failure ??= { error };
    this.#stop();
  }

  #signalled() {
    if (this.#isSignalled) {
      this.#hurry();
    }
    this.#isSignalled = true;
    this.#stop();
  }

  /** From now on no handler begins. */
  #stop() {
    if (!this.#stopped.signal.aborted) {
      this.#stopped.abort();
      this.#beginning.forEach((beginning) => beginning.abort());
      this.#limit = startTimer(() => this.#hurry(), this.#options.drainMs);
      const graceMs = this.#turnBegan + GRACE_MS - now();
      const close = () => this.#closed.abort();
      sleep(graceMs, this.#closed.signal).then(close, close);
      this.#wake();
    }
  }

  /** From now on nothing runs, and there is RETURN_MS left to send all. */
  #hurry() {
    if (!this.#isHurried) {
      this.#isHurried = true;
      this.#closed.abort();
      clearTimeout(this.#limit);
      this.#limit = startTimer(() => {
        this.#ended.abort();
        this.#wake();
      }, RETURN_MS);
      this.#wake();
    }
  }

  async #drain() {
    this.#stop();
    this.#closed.abort();
    this.#beginning.forEach((beginning) => beginning.abort()); // of the last turn
    // Not before, since the last turn would take it again.
    this.#waiting.forEach(({ message }) => this.#return(message));
    this.#waiting = [];
    this.#outcomes.settleNow();
    const isDone = () => !this.#running.size && !this.#outcomes.count && !this.#outcomes.isSettling;
    while (!this.#isHurried && !isDone()) {
      await this.#changed();
    }
    this.#running.forEach((message) => {
      if (this.#return(message)) {
        message._lose(message._problem('the worker stopped'));
      }
    });
    this.#running.clear();
    this.#outcomes.settleNow();
    while (this.#outcomes.isSettling || (this.#outcomes.count && !this.#ended.signal.aborted)) {
      await this.#changed();
    }
    clearTimeout(this.#limit);
    this.#outcomes.end();
    const { count } = this.#outcomes;
    if (count) {
      this.#client._warn(`${count} messages of queue '${this.#name}' could not be settled, and come again`);
    }
  }

  /** False: it has ended. */
  #return(message) {
    const isHeld = !message._isSettled && !message._isOver;
    if (isHeld) {
      this.#outcomes.add(returned(message));
    }
    return isHeld;
  }
}
