/** Time: the clock of all deadlines, pauses that a signal ends, and when an outage is reported. */
export const PAUSE_MS = 50;
export const PAUSE_MAX_MS = 2000;
const WARN_MS = 60000;
const TIMER_MOST_MS = 2 ** 31 - 1;

export const now = () => performance.now();
export const jitter = (ms) => ms * (0.5 + Math.random() / 2);

/** setTimeout, which takes no duration below 0 or above 2^31 - 1. */
export function startTimer(callback, ms, isBackground = false) {
  const timer = setTimeout(callback, Math.min(Math.max(ms, 0), TIMER_MOST_MS));
  if (isBackground) {
    timer.unref?.(); // browsers have none
  }
  return timer;
}

/** Resolves after `ms`, or throws the signal's reason as soon as it is aborted. */
export function sleep(ms, signal = undefined, isBackground = false) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const end = (settle) => {
      clearTimeout(wait);
      signal?.removeEventListener('abort', abort);
      settle();
    };
    const abort = () => end(() => reject(signal.reason));
    const wait = startTimer(() => end(resolve), ms, isBackground);
    signal?.addEventListener('abort', abort);
  });
}

/** Resolves when the promise is settled, or after `ms`, or throws the signal's reason. */
export async function settledWithin(promise, ms, signal = undefined) {
  signal?.throwIfAborted();
  const done = new AbortController();
  const abort = () => done.abort();
  signal?.addEventListener('abort', abort);
  promise.then(abort, abort);
  await sleep(ms, done.signal).catch(() => {});
  signal?.removeEventListener('abort', abort);
  signal?.throwIfAborted();
}

/** Warns of an outage at its first failure, at most once a minute, and of its end. */
export class Outage {
  #what;
  #warn;
  #began = null;
  #warned = -Infinity;
  #isTold = false;

  constructor(what, warn) {
    this.#what = what;
    this.#warn = warn;
  }

  failed(problem) {
    this.#began ??= now();
    if (now() - this.#warned >= WARN_MS) {
      this.#warned = now();
      this.#isTold = true;
      this.#warn(`${this.#what} fails, and is tried again: ${problem.message}`);
    }
  }

  over() {
    if (this.#isTold) {
      this.#warn(`${this.#what} works again, after ${Math.round((now() - this.#began) / 1000)} s`);
    }
    this.#began = null;
    this.#isTold = false;
  }
}
