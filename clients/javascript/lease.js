/**
 * Something that is extended until it ends or is lost. 1 % of its time is left to clocks that run
 * apart, so `lost` is aborted before another client can have it.
 */
import { PAUSE_MAX_MS, PAUSE_MS, now, settledWithin, startTimer } from './clock.js';
import { Problem } from './problem.js';

const SHARE = 0.99;
const OVER = new Set(['not_holder', 'receipt_expired', 'message_cancelled']);

export class Lease {
  #lost = new AbortController();
  #timer;
  #timeMs;
  #expires = Infinity;
  #until = Infinity;
  #next = Infinity; // when it is extended
  #extending = Promise.resolve();
  #isOver = false;

  constructor(client, timeMs) {
    this._client = client;
    this.#timeMs = timeMs;
    /** While it ends, an extension that is refused may come after the end. */
    this._isEnding = false;
  }

  get lost() {
    return this.#lost.signal;
  }

  get _left() {
    return this._isOver ? 0 : this.#expires - now();
  }

  /** Also while it ends, when `lost` waits for the answer. */
  get _isOver() {
    return this.#isOver || this.lost.aborted;
  }

  /** When something expires that was granted for `timeMs`, not before `began`. */
  static expiry(began, timeMs) {
    return began + timeMs * SHARE;
  }

  _lose(reason = undefined) {
    this._end();
    this.#lost.abort(reason ?? this._problem('it has expired, or was ended by another call'));
  }

  /** Extends it again and again from now on, until the instant `until`. */
  _keep(expires = this.#expires, until = this.#until) {
    this.#until = until;
    this.#expires = expires;
    this.#schedule(Math.min(this.#timeMs, expires - now()) / 3);
  }

  _end() {
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Runs what ends it. When that fails, the lease continues, unless it ran out by then. */
  async _ending(end) {
    this._isEnding = true;
    try {
      return await end();
    } finally {
      this._isEnding = false;
      if (this.#isOver && this.#timer !== null) {
        this._lose();
      }
    }
  }

  /**
   * Extends it to `timeMs` from now. One extension follows the other, since the last one counts.
   * None has a key: its record would be one more in Redis, and twice does no harm. `send` makes the
   * request, and resolves with when it began.
   */
  async _extend(send, timeMs, { timeoutMs = this._client.timeoutMs, signal } = {}) {
    const deadline = now() + Math.min(timeoutMs, this.#expires - now());
    this.#expires = Math.min(this.#expires, Lease.expiry(now(), timeMs)); // it may be shortened, and not answered
    const earlier = this.#extending;
    this.#extending = settledWithin(earlier, deadline - now(), signal).then(() => {
      return send({ key: '', signal, timeoutMs: Math.max(deadline - now(), 1) });
    });
    try {
      const { sent } = await this.#extending;
      this.#timeMs = timeMs;
      this.#expires = Lease.expiry(sent, timeMs);
    } catch (problem) {
      if (OVER.has(problem?.code)) {
        this.#over(problem);
      }
      throw problem;
    }
  }

  #over(problem) {
    this.#isOver = true;
    if (!this._isEnding) {
      this._lose(problem);
    }
  }

  /** It is extended now if that would come soon, since others are. */
  _join() {
    if (this.#timer && now() < this.#until && this.#next - now() <= this.#timeMs / 6) {
      clearTimeout(this.#timer);
      this.#renew();
    }
  }

  #schedule(pause) {
    clearTimeout(this.#timer);
    this.#next = now() + pause;
    this.#timer = startTimer(() => this.#renew(), pause, true);
  }

  async #renew() {
    this.#next = Infinity;
    const remaining = this.#expires - now();
    if (remaining <= 0) {
      this.#over();
      return;
    }
    let pause = remaining;
    if (now() < this.#until) {
      try {
        await this._renew(this.#timeMs, remaining);
        pause = this.#timeMs / 3;
      } catch (problem) {
        const left = this.#expires - now();
        const next = problem instanceof Problem ? Math.max(PAUSE_MS, Math.min(left / 4, PAUSE_MAX_MS)) : left;
        pause = Math.min(left, next);
      }
    }
    if (this.#timer && !this.#isOver) {
      this.#schedule(pause);
    }
  }
}
