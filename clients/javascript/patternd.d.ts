/** Client of patternd: locks, queues, rate limits and caches in Redis, over HTTP/JSON. */

/** A request that was refused or failed (RFC 9457). */
export class Problem extends Error {
  constructor(status: number, body: Record<string, unknown>, retryAfter?: number | null, options?: { cause?: unknown });
  /** 0 without an answer; `code` is `no_connection` then. */
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** Whether it changed anything. */
  readonly effect: 'none' | 'applied' | 'unknown';
  /** Seconds. */
  readonly retryAfter: number | null;
  /** The problem details as they came. */
  readonly body: Record<string, any>;
  /** An earlier attempt was not answered, and may have done it. */
  readonly repeated: boolean;
}

/** The lock is held by another client, also after `waitMs`. */
export class LockHeld extends Problem {}

/** The lock expired or was released by force: another client may hold it. */
export class LockLost extends Problem {}

export interface ClientOptions {
  token?: string | null;
  /** Bounds a call with all its attempts, without `waitMs`: 30 s. */
  timeoutMs?: number;
  /** Bounds one attempt, without `waitMs`: 5 s. */
  attemptMs?: number;
}

export interface RequestOptions {
  query?: Record<string, string | number | boolean | (string | number)[]>;
  headers?: Record<string, string>;
  /**
   * The Idempotency-Key of a POST or PATCH, made when absent; '' sends none, for what may happen
   * twice.
   */
  key?: string;
  /** How long the daemon is asked to wait: added to both bounds. */
  waitMs?: number;
  timeoutMs?: number;
}

export interface Response {
  status: number;
  headers: Headers;
  /** Parsed JSON, or text of another type; null when there is none. */
  body: any;
  /** performance.now() when the attempt that was answered began. */
  sent: number;
}

export interface LockOptions {
  /** 30 s. */
  ttlMs?: number;
  waitMs?: number;
  owner?: string;
  mode?: 'exclusive' | 'shared';
  metadata?: unknown;
  minReplicas?: number;
}

export interface LimitOptions {
  limit?: number;
  windowMs?: number;
  policy?: string;
  burst?: number;
  algorithm?: 'gcra' | 'sliding_window' | 'fixed_window';
  cost?: number;
  waitMs?: number;
}

export interface Decision {
  allowed: boolean;
  remaining: number;
  /** Null when the call is allowed. */
  retryAfterMs: number | null;
  /** As configured: `limit` per `windowMs`. */
  limit: number;
  windowMs: number;
  /** What fits at once: the burst of gcra, else the limit. */
  capacity: number;
  resetAfterMs: number;
  policy: string | null;
  degraded: boolean;
}

export interface CachedOptions<T> {
  ttlMs: number;
  fill: () => T | Promise<T>;
  /** For how long no other caller runs its `fill`: 5 s. */
  fillMs?: number;
  jitterMs?: number;
}

export interface SendOptions {
  /** Of one id a message is stored once. Made when absent. */
  id?: string;
  delayMs?: number;
  deliverAtMs?: number;
  priority?: number;
  ttlMs?: number;
  headers?: Record<string, string>;
  traceparent?: string;
}

export interface Sent {
  id: string;
  /** A message with this id was there before. */
  duplicate: boolean;
  deliverAtMs: number | null;
}

export interface ReceiveOptions {
  waitMs?: number;
  /** 30 s. */
  visibilityMs?: number;
  /** For how long the message is extended: an hour. */
  maxWorkMs?: number;
  /** Shown with each message and in the daemon's log: 1 to 200 bytes. */
  worker?: string;
}

export class Client {
  /** Of the daemon at `url`, http://HOST:PORT or https://HOST:PORT. */
  constructor(url: string, options?: ClientOptions);
  timeoutMs: number;
  attemptMs: number;
  /** Any operation of the daemon but streams; `path` is percent-encoded. */
  request(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Response>;
  /**
   * Acquires a lock, runs `work` while it is extended, and releases it. Throws LockHeld when it is
   * not free within `waitMs`, and LockLost when it was lost before `work` ended.
   */
  lock<T>(name: string, options: LockOptions | undefined, work: (lock: Lock) => T | Promise<T>): Promise<T>;
  /** Acquires a lock, for the caller to release. */
  lock(name: string, options?: LockOptions): Promise<Lock>;
  queue(name: string): Queue;
  /** Counts a call if the limit, or a stored policy, has room for it. */
  limit(key: string, options: LimitOptions): Promise<Decision>;
  /**
   * The value of `key`, or what `fill` returns, which is stored for `ttlMs`. Of all callers one
   * runs `fill`; the others wait at the daemon for its value. When it throws or takes longer than
   * `fillMs`, the next caller runs its own.
   */
  cached<T>(key: string, options: CachedOptions<T>): Promise<T>;
}

export class Lock {
  private constructor();
  readonly name: string;
  /** Rises with each holder: pass it to what the lock protects. */
  readonly fence: number;
  /** Aborted when the lock may be another client's: stop the work then. */
  readonly lost: AbortSignal;
  /** Throws LockLost when it was lost before. A lock that cannot be released expires by itself. */
  release(): Promise<void>;
}

export class Message<T = any> {
  private constructor();
  readonly queue: string;
  readonly id: string;
  readonly body: T;
  readonly receives: number;
  readonly priority: number;
  readonly sentAtMs: number;
  readonly traceparent: string | null;
  readonly headers: Record<string, string>;
  /** Aborted when another worker may have the message. */
  readonly lost: AbortSignal;
  /** Removes the message for good. False: the delivery had ended, the message comes again. */
  acknowledge(): Promise<boolean>;
  /** Returns it to the queue, due after `delayMs` or the queue's backoff; or makes it dead. */
  reject(delayMs?: number, options?: { reason?: string; dead?: boolean }): Promise<boolean>;
}

export class Queue {
  private constructor();
  readonly name: string;
  send(body: unknown, options?: SendOptions): Promise<Sent>;
  /** Up to 100 messages, all or none. */
  sendMany(messages: (SendOptions & { body: unknown })[]): Promise<Sent[]>;
  /** One message, or null. It is extended until it is settled. */
  receive<T = any>(options?: ReceiveOptions): Promise<Message<T> | null>;
  /**
   * Messages, one after the other, until `stop` is aborted. A message is acknowledged when the loop
   * asks for the next one. It is rejected when the loop is left before that, by an error, `break`
   * or `return`. `stop` is looked at each `waitMs`: 1 s, or 20 s without it.
   */
  messages<T = any>(options?: ReceiveOptions & { stop?: AbortSignal }): AsyncGenerator<Message<T>, void, undefined>;
}
