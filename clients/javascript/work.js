/**
 * The loop behind `queue.work` (docs/adr/0029-work.md). The receiver makes turns: one request
 * settles all outcomes so far, and receives what there is room for. `concurrency` handlers take
 * messages in their order. What waited for SETTLE_MS while no turn takes it is settled by itself.
 */
import { Outage, PAUSE_MS, jitter, now, sleep } from './clock.js';
import { Message } from './message.js';
import { pathOf, reasonOf } from './names.js';
import { Problem } from './problem.js';
import { onSignals } from './signals.js';

const AHEAD_MS = 500;
const SETTLE_MS = 10;
const GRACE_MS = 500; // of a turn that may not be waiting yet: what it takes is on its way
const PAUSE_MAX_MS = 5000;
const ROWS_MAX = 100;
const RESULT_MAX = 65536;
const RESULTS_MAX = 524288;
/** Refusals that a repetition cannot change. */
const FINAL = new Set([400, 401, 403, 404, 405, 413, 414, 415, 422]);

const bytesOf = (text) => new TextEncoder().encode(text).length;
const isGeneratorFunction = (f) => Object.prototype.toString.call(f).includes('Generator');

export class Work {
  #client;
  #name;
  #path;
  #handler;
  #options;
  #outage;
  #waiting = [];
  #running = new Set();
  #outcomes = [];
  #meanMs = Infinity;
  #pauseMs = PAUSE_MS;
  #settler = null;
  #isSettling = false;
  #isSignalled = false;
  #isHurried = false; // what runs goes back, too
  #turnBegan = -Infinity;
  #stopped = new AbortController();
  #closed = new AbortController();
  #wake = () => {};

  constructor(client, name, handler, options) {
    const { concurrency = 4, waitMs = 20000, visibilityMs = 30000, maxWorkMs = 3600000, drainMs = 20000 } = options;
    const { stop, worker, signals = true } = options;
    if (typeof handler !== 'function') {
      throw new TypeError('work needs a function, which handles a message');
    }
    if (isGeneratorFunction(handler) || handler.length > 1) {
      throw new TypeError('the handler must return when its work is done, or a promise: no generator, no callback');
    }
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(`concurrency is ${concurrency}; it must be an integer, and at least 1`);
    }
    this.#client = client;
    this.#name = name;
    this.#path = pathOf('queues', name);
    this.#handler = handler;
    // A delivery begins after its request was sent. So half of it is left when its answer comes.
    const turnMs = Math.min(waitMs, Math.floor(visibilityMs / 2));
    this.#options = { concurrency, waitMs: turnMs, visibilityMs, maxWorkMs, drainMs, worker, stop, signals };
    this.#outage = new Outage(`receiving from queue '${name}'`, client._warn);
  }

  async run() {
    const { stop, signals, drainMs } = this.#options;
    const end = () => this.#stop();
    const ignore = signals ? onSignals(() => this.#signalled()) : () => {};
    stop?.addEventListener('abort', end);
    try {
      if (!stop?.aborted) {
        await this.#receive();
      }
    } finally {
      this.#stopped.abort();
      this.#returnWaiting(); // not before: the last turn would take it again
      await this.#drain(drainMs);
      stop?.removeEventListener('abort', end);
      ignore();
    }
  }

  #signalled() {
    this.#isHurried ||= this.#isSignalled;
    this.#isSignalled = true;
    this.#stop();
  }

  /** Takes no more. */
  #stop() {
    this.#stopped.abort();
    const graceMs = this.#isHurried ? 0 : Math.max(this.#turnBegan + GRACE_MS - now(), 0);
    setTimeout(() => this.#closed.abort(), graceMs);
    this.#wake();
  }

  // The receiver

  async #receive() {
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
        if (!(problem instanceof Problem) || FINAL.has(problem.status)) {
          throw problem;
        }
        await this.#pause(problem, this.#stopped.signal).catch(() => {});
      }
    }
  }

  async #pause(problem, signal) {
    if (problem.code !== 'no_connection' || problem.effect !== 'none') {
      this.#outage.failed(problem); // the client warns of connections that fail
    }
    const pause = jitter(this.#pauseMs) + (problem.retryAfter ?? 0) * 1000;
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MAX_MS);
    await sleep(pause, signal);
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
    const { waitMs, visibilityMs, maxWorkMs, worker } = this.#options;
    const limit = this.#room();
    const outcomes = this.#take();
    const body = { limit, wait_ms: waitMs, visibility_ms: visibilityMs, worker };
    if (outcomes.length) {
      body.settle = rowsOf(outcomes);
    }
    const call = this.#client._call('POST', `${this.#path}/receive`, body);
    this.#turnBegan = now();
    const answer = await this.#settling(outcomes, () => {
      return this.#client._attempt(call, this.#client.attemptMs + waitMs, this.#closed.signal);
    });
    if (!answer) {
      return; // a row was refused
    }
    const { messages = [], unreceived } = answer.body;
    for (const reply of messages) {
      const message = new Message(this.#client, this.#name, reply, visibilityMs);
      const isCurrent = message._begin(answer.sent, maxWorkMs).catch(() => false);
      this.#waiting.push({ message, isCurrent });
    }
    this.#begin();
    if (messages.length === 0 && now() - answer.sent < PAUSE_MS) {
      await sleep(jitter(PAUSE_MS), this.#stopped.signal).catch(() => {}); // a daemon that stops lets none wait
    }
    if (unreceived) {
      throw new Problem(503, { detail: 'the receive failed after it settled', ...unreceived });
    }
  }

  // The handlers

  #begin() {
    while (!this.#stopped.signal.aborted && this.#waiting.length && this.#running.size < this.#options.concurrency) {
      const { message, isCurrent } = this.#waiting.shift();
      this.#running.add(message);
      this.#run(message, isCurrent);
    }
  }

  async #run(message, isCurrent) {
    // What was lost while it waited is another worker's.
    const outcome = (await isCurrent) && !message._isOver ? await this.#handle(message) : null;
    // Otherwise it was returned at the limit of the stop.
    if (this.#running.delete(message)) {
      if (outcome && !message._isSettled) {
        this.#add(outcome);
      } else {
        message._end();
      }
    }
    this.#begin();
    this.#wake();
  }

  async #handle(message) {
    const began = now();
    const { receipt } = message;
    try {
      const result = await this.#handler(message);
      await message._settled();
      return this.#outcomeOf(message, result);
    } catch (error) {
      this.#tell(message, 'is rejected, since its handler failed:', error);
      return { message, kind: 'reject', row: { receipt, reason: reasonOf(error) }, size: 0 };
    } finally {
      const ms = now() - began;
      this.#meanMs = this.#meanMs === Infinity ? ms : 0.8 * this.#meanMs + 0.2 * ms;
    }
  }

  /**
   * The work is done, unless the result shows that it is not: an iterator, which nothing has run,
   * or anything else that JSON refuses. A result that is too large is left out.
   */
  #outcomeOf(message, result) {
    const receipt = message.receipt;
    const plain = { message, kind: 'acknowledge', row: receipt, size: 0 };
    if (result === undefined || result === null) {
      return plain;
    }
    const text = typeof result.next === 'function' ? undefined : JSON.stringify(result);
    if (text === undefined) {
      throw new TypeError('the handler returned no JSON, so its work may not be done');
    }
    const size = bytesOf(text);
    if (size <= RESULT_MAX) {
      return { message, kind: 'complete', row: { receipt, result }, size };
    }
    this.#tell(message, `is acknowledged without its result: ${size} bytes are more than ${RESULT_MAX}`);
    return plain;
  }

  // The outcomes

  #add(outcome) {
    this.#outcomes.push(outcome);
    this.#settler ??= setTimeout(() => this.#settleRipe(), SETTLE_MS);
  }

  /** Outcomes for one request. A message that was lost is another worker's. */
  #take() {
    const isLost = ({ message, isReturned }) => message._isOver && !isReturned;
    this.#outcomes.filter(isLost).forEach(({ message }) => {
      message._end();
      this.#tell(message, 'was lost before its end could be sent, and comes again');
    });
    this.#outcomes = this.#outcomes.filter((outcome) => !isLost(outcome));
    let size = 0;
    let count = 0;
    for (const outcome of this.#outcomes) {
      size += outcome.size;
      if (count === ROWS_MAX || (count > 0 && size > RESULTS_MAX)) {
        break;
      }
      count++;
    }
    return this.#outcomes.splice(0, count);
  }

  async #settleRipe() {
    let pauseMs = SETTLE_MS;
    this.#isSettling = true;
    try {
      while (this.#outcomes.length) {
        await this.#settle(this.#client.attemptMs);
      }
    } catch {
      pauseMs = jitter(this.#pauseMs); // the next turn tries it, too, and warns
    }
    this.#isSettling = false;
    this.#settler = this.#outcomes.length ? setTimeout(() => this.#settleRipe(), pauseMs) : null;
    this.#wake();
  }

  async #settle(timeoutMs) {
    const outcomes = this.#take();
    if (outcomes.length) {
      await this.#settling(outcomes, () => this.#settleNow(outcomes, timeoutMs));
    }
  }

  #settleNow(outcomes, timeoutMs = this.#client.attemptMs) {
    return this.#client._attempt(this.#client._call('POST', `${this.#path}/settle`, rowsOf(outcomes)), timeoutMs);
  }

  /** Sends outcomes. They are kept when that fails, since each may be sent again. */
  async #settling(outcomes, send) {
    outcomes.forEach(({ message }) => {
      message._isEnding = true; // from now on an extension may be refused because it has ended
    });
    try {
      const answer = await send();
      if (!answer.body?.messages && !answer.body?.deliveries) {
        const detail = 'the answer is not that of a daemon';
        throw new Problem(0, { code: 'no_connection', detail, effect: 'unknown' });
      }
      this.#ended(outcomes, answer.body.deliveries ?? []);
      return answer;
    } catch (problem) {
      if (outcomes.length && isRefusal(problem)) {
        await this.#separate(outcomes);
        return null;
      }
      this.#outcomes.unshift(...outcomes);
      throw problem;
    }
  }

  /** A row that the daemon refuses keeps no other from being settled. */
  async #separate(outcomes) {
    while (outcomes.length) {
      const [outcome] = outcomes;
      try {
        this.#ended([outcome], (await this.#settleNow([outcome])).body.deliveries);
      } catch (problem) {
        if (!isRefusal(problem)) {
          this.#outcomes.unshift(...outcomes);
          throw problem;
        }
        this.#refused(outcome, problem);
      }
      outcomes.shift();
    }
  }

  #refused({ message, kind }, problem) {
    this.#tell(message, `cannot be settled by ${kind}:`, problem);
    if (kind === 'complete') {
      this.#add({ message, kind: 'acknowledge', row: message.receipt, size: 0 }); // the work is done
    } else {
      message._end(); // it comes again
    }
  }

  #ended(outcomes, deliveries) {
    const told = new Map(deliveries.map(({ receipt, outcome }) => [receipt, outcome]));
    for (const { message, kind } of outcomes) {
      message._end();
      if (told.get(message.receipt) === 'not_current' && kind !== 'reject') {
        this.#tell(message, 'was worked on for longer than its delivery lasted');
      }
    }
  }

  #tell(message, what, ...more) {
    this.#client._warn(`message '${message.id}' of queue '${this.#name}' ${what}`, ...more);
  }

  // The end

  async #drain(drainMs) {
    const limit = setTimeout(() => {
      this.#isHurried = true;
      this.#wake();
    }, drainMs);
    while (!this.#isHurried && (this.#running.size || this.#isSettling)) {
      await this.#changed();
    }
    this.#giveUp();
    while (this.#isSettling) {
      await this.#changed();
    }
    clearTimeout(limit);
    clearTimeout(this.#settler);
    const deadline = now() + this.#client.attemptMs;
    while (this.#outcomes.length && now() < deadline) {
      await this.#settle(deadline - now()).catch(() => sleep(Math.min(jitter(this.#pauseMs), deadline - now())));
    }
    if (this.#outcomes.length) {
      const count = this.#outcomes.length;
      this.#outcomes.forEach(({ message }) => message._end());
      this.#client._warn(`${count} messages of queue '${this.#name}' could not be settled, and come again`);
    }
  }

  /** What still runs goes back, and is lost for its handler. */
  #giveUp() {
    for (const message of this.#running) {
      if (this.#return(message)) {
        message._lose(message._problem('the worker stopped'));
      }
    }
    this.#running.clear();
  }

  #returnWaiting() {
    this.#waiting.forEach(({ message }) => this.#return(message));
    this.#waiting = [];
  }

  /** It did not fail: this delivery does not count. False: it has ended. */
  #return(message) {
    const isHeld = !message._isSettled && !message._isOver;
    if (isHeld) {
      const row = { receipt: message.receipt, delay_ms: 0, counted: false };
      this.#add({ message, kind: 'reject', row, size: 0, isReturned: true });
    }
    return isHeld;
  }
}

/** Whether it is this very request that the daemon refuses. */
const isRefusal = (problem) => FINAL.has(problem.status) && problem.status !== 401 && problem.status !== 403;

function rowsOf(outcomes) {
  const rows = {};
  for (const { kind, row } of outcomes) {
    (rows[kind] ??= []).push(row);
  }
  return rows;
}
