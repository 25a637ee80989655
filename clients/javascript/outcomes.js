/**
 * The outcomes of a loop's messages: what settles them. A turn takes some along; what no turn takes
 * within SETTLE_MS is sent by itself. This file must not know handlers or turns.
 */
import { PAUSE_MS, jitter, startTimer } from './clock.js';
import { pathOf, reasonOf } from './names.js';
import { Problem } from './problem.js';

const SETTLE_MS = 10;
const PAUSE_MOST_MS = 500;
const RETRY_AFTER_MOST_S = 60;
const ROWS_MAX = 100;
const RESULT_MAX = 65536;
const RESULTS_MAX = 524288;
/** Refusals that a repetition cannot change. */
const FINAL = new Set([400, 401, 403, 404, 405, 413, 414, 415, 422]);

export const isFinal = (problem) => !(problem instanceof Problem) || FINAL.has(problem.status);
/** The wait that a refusal asks for, within bounds: a proxy may ask for hours. */
export const retryAfterMs = (problem) => Math.min(problem.retryAfter ?? 0, RETRY_AFTER_MOST_S) * 1000;

/** Whether it is this very request that the daemon refuses. */
const isRefusal = ({ status }) => FINAL.has(status) && status !== 401 && status !== 403;
const bytesOf = (text) => new TextEncoder().encode(text).length;
const acknowledged = (message) => ({ message, kind: 'acknowledge', row: message.receipt, size: 0 });

export function rejected(message, error) {
  return { message, kind: 'reject', row: { receipt: message.receipt, reason: reasonOf(error) }, size: 0 };
}

/** Of a message that did not fail: this delivery does not count. */
export function returned(message) {
  const row = { receipt: message.receipt, delay_ms: 0, counted: false };
  return { message, kind: 'reject', row, size: 0, isReturned: true };
}

/**
 * Of a message whose handler returned `result`. Its work is done, unless the result shows that it
 * is not: an iterator, which nothing has run, or anything else that JSON refuses. `toJSON` runs
 * once, since the next time it may throw.
 */
export function done(message, result, tell) {
  if (result === undefined || result === null) {
    return acknowledged(message);
  }
  const text = typeof result.next === 'function' ? undefined : JSON.stringify(result);
  if (text === undefined) {
    throw new TypeError('the handler returned no JSON, so its work may not be done');
  }
  const size = bytesOf(text);
  if (size > RESULT_MAX) {
    tell(message, `is acknowledged without its result: ${size} bytes are more than ${RESULT_MAX}`);
    return acknowledged(message);
  }
  return { message, kind: 'complete', row: { receipt: message.receipt, result: JSON.parse(text) }, size };
}

export class Outcomes {
  #client;
  #path;
  #tell;
  #changed;
  #ended;
  #kept = [];
  #settler = null;
  #isSettling = false;
  #pauseMs = PAUSE_MS;

  /**
   * `tell` warns of a message; `changed` is called when the settler has ended. Once the signal
   * `ended` is aborted, nothing is sent any more.
   */
  constructor(client, name, { tell, changed, ended }) {
    this.#client = client;
    this.#path = `${pathOf('queues', name)}/settle`;
    this.#tell = tell;
    this.#changed = changed;
    this.#ended = ended;
  }

  get count() {
    return this.#kept.length;
  }

  get isSettling() {
    return this.#isSettling;
  }

  add(outcome) {
    this.#kept.push(outcome);
    this.#settleIn(SETTLE_MS);
  }

  /** Settles without a pause, also after a failure. */
  settleNow() {
    if (!this.#isSettling) {
      clearTimeout(this.#settler);
      this.#settler = null;
      this.#settleIn(0);
    }
  }

  #settleIn(ms) {
    if (this.#kept.length && !this.#ended.aborted) {
      this.#settler ??= startTimer(() => this.#settle(), ms);
    }
  }

  async #settle() {
    let pauseMs = SETTLE_MS;
    this.#isSettling = true;
    try {
      while (this.#kept.length) {
        const outcomes = this.take();
        await (outcomes.length && this.sending(outcomes, () => this.#send(outcomes)));
      }
      this.#pauseMs = PAUSE_MS;
    } catch (problem) {
      pauseMs = jitter(this.#pauseMs) + retryAfterMs(problem); // the next turn tries it, too, and warns
      this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MOST_MS);
    }
    this.#isSettling = false;
    this.#settler = null;
    this.#settleIn(pauseMs);
    this.#changed();
  }

  #send(outcomes) {
    const call = this.#client._call('POST', this.#path, rowsOf(outcomes));
    return this.#client._attempt(call, this.#client.attemptMs, this.#ended);
  }

  /** Outcomes for one request. A message that was lost is another worker's. */
  take() {
    const isLost = ({ message, isReturned }) => message._isOver && !isReturned;
    this.#kept.filter(isLost).forEach(({ message }) => {
      message._end();
      this.#tell(message, 'was lost before its end could be sent, and comes again');
    });
    this.#kept = this.#kept.filter((outcome) => !isLost(outcome));
    let size = 0;
    let count = 0;
    for (const outcome of this.#kept) {
      size += outcome.size;
      if (count === ROWS_MAX || (count > 0 && size > RESULTS_MAX)) {
        break;
      }
      count++;
    }
    return this.#kept.splice(0, count);
  }

  /**
   * Sends outcomes that were taken, and returns the answer, or null if a row was refused. They are
   * kept when that fails, since each may be sent again.
   */
  async sending(outcomes, send) {
    outcomes.forEach(({ message }) => {
      message._isEnding = true; // from now on an extension may be refused because it has ended
    });
    try {
      const answer = await send();
      if (!answer.body?.messages && !answer.body?.deliveries) {
        const code = `status_${answer.status}`;
        throw new Problem(0, { code, detail: 'the answer is not that of a daemon', effect: 'unknown' });
      }
      this.#told(outcomes, answer.body.deliveries ?? []);
      return answer;
    } catch (problem) {
      if (outcomes.length && isRefusal(problem)) {
        await this.#separate(outcomes);
        return null;
      }
      this.#kept.unshift(...outcomes);
      throw problem;
    }
  }

  /** A row that the daemon refuses keeps no other from being settled. */
  async #separate(outcomes) {
    while (outcomes.length) {
      const [outcome] = outcomes;
      try {
        this.#told([outcome], (await this.#send([outcome])).body.deliveries);
      } catch (problem) {
        if (!isRefusal(problem)) {
          this.#kept.unshift(...outcomes);
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
      this.add(acknowledged(message)); // the work is done
    } else {
      message._end(); // it comes again
    }
  }

  #told(outcomes, deliveries) {
    const told = new Map(deliveries.map(({ receipt, outcome }) => [receipt, outcome]));
    for (const { message, kind } of outcomes) {
      message._end();
      if (told.get(message.receipt) === 'not_current' && kind !== 'reject') {
        this.#tell(message, 'was worked on for longer than its delivery lasted');
      }
    }
  }

  /** Ends what could not be sent: it comes again. */
  end() {
    clearTimeout(this.#settler);
    this.#kept.forEach(({ message }) => message._end());
  }
}

export function rowsOf(outcomes) {
  const rows = {};
  for (const { kind, row } of outcomes) {
    (rows[kind] ??= []).push(row);
  }
  return rows;
}
