/// <reference lib="es2018.asynciterable" />
/// <reference lib="esnext.disposable" />
/** Client of patternd: locks, queues, rate limits and caches in Redis, over HTTP/JSON. */

/**
 * AbortSignal, where the program has its type from the DOM or Node.js; else what it has to have.
 */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer T } }
  ? T
  : {
      readonly aborted: boolean;
      readonly reason: unknown;
      throwIfAborted(): void;
      addEventListener(type: 'abort', listener: () => void): void;
      removeEventListener(type: 'abort', listener: () => void): void;
    };

/** A request that was refused or failed (RFC 9457). */
export class Problem extends Error {
  constructor(
    status: number,
    body: Record<string, unknown>,
    retryAfter?: number | null,
    options?: { cause?: unknown } | undefined,
  );
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
  token?: string | null | undefined;
  /** Bounds a call with all its attempts, without `waitMs`: 30 s. */
  timeoutMs?: number | undefined;
  /** Bounds one attempt, without `waitMs`: 5 s. */
  attemptMs?: number | undefined;
  /**
   * The authority of an https:// daemon, PEM; without it those of the system. Reread for each
   * connection.
   */
  caFile?: string | undefined;
  /** The certificate that the daemon asks of its clients, and its key, PEM. */
  certFile?: string | undefined;
  keyFile?: string | undefined;
  /**
   * Gets what an operator should know, such as an outage; console.warn without it. What it throws
   * is ignored.
   */
  warn?: ((text: string, ...more: unknown[]) => void) | undefined;
}

/** Of each call. */
export interface CallOptions {
  /** Ends the call: its connection is closed at once, and the call throws the signal's reason. */
  signal?: Signal | undefined;
  timeoutMs?: number | undefined;
}

export interface RequestOptions extends CallOptions {
  query?: Record<string, string | number | boolean | readonly (string | number)[] | undefined> | undefined;
  headers?: Record<string, string> | undefined;
  /**
   * The Idempotency-Key of a POST or PATCH, made when absent; '' sends none, for what may happen
   * twice.
   */
  key?: string | undefined;
  /** How long the daemon is asked to wait: added to both bounds. */
  waitMs?: number | undefined;
}

export interface Response {
  status: number;
  headers: { get(name: string): string | null; has(name: string): boolean };
  /** Parsed JSON, or text of another type; null when there is none. */
  body: any;
  /** performance.now() when the attempt that was answered began. */
  sent: number;
}

export interface LockOptions extends CallOptions {
  /** 30 s. */
  ttlMs?: number | undefined;
  waitMs?: number | undefined;
  owner?: string | undefined;
  mode?: 'exclusive' | 'shared' | undefined;
  metadata?: unknown;
  minReplicas?: number | undefined;
}

export interface HoldOptions {
  /** For how long others wait when the daemon dies: 10 s. */
  ttlMs?: number | undefined;
  waitMs?: number | undefined;
  owner?: string | undefined;
  maxHoldMs?: number | undefined;
  /** Ends the waiting, not the lock. */
  signal?: Signal | undefined;
}

export interface LimitOptions extends CallOptions {
  limit?: number | undefined;
  windowMs?: number | undefined;
  policy?: string | undefined;
  burst?: number | undefined;
  algorithm?: 'gcra' | 'sliding_window' | 'fixed_window' | undefined;
  cost?: number | undefined;
  waitMs?: number | undefined;
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

/** The contract has all members; those that are most used have types here. */
/** The keys of a policy are network addresses: all spellings of an address share one limit. */
export interface PolicyAddress {
  /** How many bits of an IPv6 address are the key: 64. */
  ipv6Prefix?: number | null | undefined;
  /** How many bits of an IPv4 address are the key: 32. */
  ipv4Prefix?: number | null | undefined;
  /** What happens to a key that is no address: it is refused. */
  other?: 'refuse' | 'keep' | null | undefined;
  /** Which address of a header's list is the key; 1 is the last. */
  fromRight?: number | null | undefined;
}

export interface PolicySettings {
  limit: number;
  windowMs: number;
  burst?: number | undefined;
  algorithm?: 'gcra' | 'sliding_window' | 'fixed_window' | undefined;
  address?: PolicyAddress | null | undefined;
  [member: string]: unknown;
}

export interface Policy {
  name: string;
  limit: number;
  windowMs: number;
  burst: number | null;
  algorithm: string;
  address: PolicyAddress | null;
  [member: string]: unknown;
}

export interface CachedOptions<T> {
  ttlMs: number;
  fill: () => T | Promise<T>;
  /** For how long no other caller runs its `fill`: 5 s. */
  fillMs?: number | undefined;
  jitterMs?: number | undefined;
  /** Ends the waiting for another caller's value. */
  signal?: Signal | undefined;
}

export interface Backoff {
  baseMs: number;
  maxMs: number;
}

export interface MessageOptions {
  /** Of one id a message is stored once. Made when absent. */
  id?: string | undefined;
  delayMs?: number | undefined;
  deliverAtMs?: number | undefined;
  priority?: number | undefined;
  /** 0: without a limit, whatever the queue's `ttlMs` is. */
  ttlMs?: number | undefined;
  /** After so many deliveries it is a dead letter; 0: never. */
  maxReceives?: number | undefined;
  headers?: Record<string, string> | undefined;
  traceparent?: string | undefined;
  /** Groups take turns, or are worked in order: docs/queue-groups.md. */
  group?: string | undefined;
  /** Instead of the queue's backoff. */
  backoffBaseMs?: number | undefined;
  backoffMaxMs?: number | undefined;
  /** What becomes of a message whose id is there: `keep` leaves that one as it is. */
  onDuplicate?: 'keep' | 'replace' | 'extend' | 'after' | undefined;
  maxExtendMs?: number | undefined;
  /** A second message with it, within `dedupeMs` after this send, is a duplicate. */
  dedupeId?: string | undefined;
  /** It is made of the body. The queue has `dedupeByBody`. */
  dedupeByBody?: boolean | undefined;
}

export interface SendOptions extends MessageOptions, CallOptions {
  /** Waits for the message's end, in a queue with `resultMs`: request and reply. */
  waitResultMs?: number | undefined;
  /** Waits for room in a queue with `maxMessages`. */
  waitRoomMs?: number | undefined;
  /** 404 for a queue that does not exist, instead of creating it. */
  mustExist?: boolean | undefined;
}

export interface SendManyOptions extends CallOptions {
  /** 404 for a queue that does not exist, instead of creating it. */
  mustExist?: boolean | undefined;
}

export interface Sent {
  id: string;
  /** A message with this id or dedupe id was there before. */
  duplicate: boolean;
  deliverAtMs: number | null;
  outcome?: 'stored' | 'kept' | 'replaced' | 'extended' | 'after' | 'kept_dead';
  /** Its number, 16 digits; a duplicate has the number of the first one; null: not known. */
  sequence: string | null;
  /** With `waitResultMs`. */
  state?: MessageState | null;
  result?: any;
  reason?: string;
}

export interface ReceiveOptions {
  waitMs?: number | undefined;
  /** 30 s. */
  visibilityMs?: number | undefined;
  /** For how long the message is extended: an hour. */
  maxWorkMs?: number | undefined;
  /**
   * Shown with each message and in the daemon's log, up to 200 bytes of it. By default host and
   * process, such as `web-1-4711`, and none in a browser; null sends none.
   */
  worker?: string | null | undefined;
}

export interface AcknowledgeOptions extends CallOptions {
  /** Also after the end of the delivery, while the message was not delivered again. */
  late?: boolean | undefined;
}

export interface RejectOptions extends AcknowledgeOptions {
  /** Why; kept with the message. */
  reason?: string | undefined;
  /** Makes it a dead letter at once. */
  dead?: boolean | undefined;
  /** False: the message did not fail. `receives` goes back by one, and it has no backoff. */
  counted?: boolean | undefined;
}

export interface LoopOptions extends ReceiveOptions {
  stop?: Signal | undefined;
}

export interface WorkOptions extends ReceiveOptions {
  /** How many messages are worked on at once: 4. */
  concurrency?: number | undefined;
  /** Ends the loop, as SIGTERM does. */
  stop?: Signal | undefined;
  /**
   * For how long what runs may continue after a stop: 7 s. Then it is returned, uncounted. `work`
   * ends at most 2 s later.
   */
  drainMs?: number | undefined;
  /**
   * Whether SIGTERM and SIGINT end the loop: true. A second one returns what still runs at once.
   */
  signals?: boolean | undefined;
}

export type MessageState = 'ready' | 'blocked' | 'delayed' | 'in_flight' | 'dead' | 'done';

export interface Progress {
  /** 0 to 100. */
  percent: number;
  note?: string | undefined;
}

/** A message as lists show it. */
export interface StoredMessage {
  id: string;
  state: MessageState;
  body: any;
  priority: number;
  receives: number;
  sentAtMs: number;
  deliverAtMs: number | null;
  visibleUntilMs: number | null;
  diedAtMs: number | null;
  receivedAtMs: number | null;
  doneAtMs?: number | null;
  expiresAtMs: number | null;
  worker: string | null;
  reason: string | null;
  /** Its number, 16 digits, which rises with each message of the queue. */
  sequence: string;
  group?: string | null;
  progress?: { percent: number; note: string | null } | null;
  result?: any;
  headers?: Record<string, string>;
  traceparent?: string;
  dedupeId?: string;
  deadFrom?: string;
}

export interface Rate {
  limit: number;
  windowMs: number;
  burst?: number | undefined;
}

export interface QueueSettings {
  visibilityMs?: number | null | undefined;
  /** 0: no message is dead, however often it is delivered. */
  maxReceives?: number | null | undefined;
  backoff?: Backoff | null | undefined;
  dedupeMs?: number | null | undefined;
  deadRetentionMs?: number | null | undefined;
  paused?: boolean | null | undefined;
  order?: 'fair' | 'strict' | null | undefined;
  concurrency?: number | null | undefined;
  groupConcurrency?: number | null | undefined;
  rate?: Rate | null | undefined;
  groupRate?: Rate | null | undefined;
  policy?: { name: string; key: string } | null | undefined;
  maxMessages?: number | null | undefined;
  resultMs?: number | null | undefined;
  /** Of messages that are sent without one. */
  delayMs?: number | null | undefined;
  /** Of messages that are sent without one. */
  ttlMs?: number | null | undefined;
  /** Of receives without one. This client always gives one. */
  waitMs?: number | null | undefined;
  /** The queue into which dead letters move. */
  deadLetterQueue?: string | null | undefined;
  /** Messages may have `dedupeByBody`. */
  dedupeByBody?: boolean | null | undefined;
  /** In `group`, equal dedupe ids of different groups are different. */
  dedupeScope?: 'queue' | 'group' | null | undefined;
  /** Of the body, a string without quotes and escapes, and of the headers. */
  maxMessageBytes?: number | null | undefined;
  /** Texts about the queue. `patch` keeps those that it does not name, and null removes one. */
  annotations?: Record<string, string | null> | null | undefined;
}

export interface PurgeOptions extends CallOptions {
  state?: Exclude<MessageState, 'done'> | undefined;
  group?: string | undefined;
}

export interface RedriveOptions extends CallOptions {
  /** These dead letters, up to 100, instead of `limit` of them. */
  ids?: readonly string[] | undefined;
  /** How many at most: 1000. */
  limit?: number | undefined;
  to?: string | undefined;
  /** Between the due times of two messages; without it all are due now. */
  intervalMs?: number | undefined;
  group?: string | undefined;
  /**
   * 'delayed': makes delayed messages due now, instead of dead letters. 'ready': moves messages
   * that are ready, to `to` or to their source.
   */
  state?: 'dead' | 'delayed' | 'ready' | undefined;
  /** With 'ready': each message moves back to the queue in which it died. */
  toSource?: boolean | undefined;
}

export interface FailedMessage {
  id: string;
  receives: number;
  worker: string | null;
  reason: string | null;
}

/** What needs a person, as GET /overview lists it. */
export interface Finding {
  kind: string;
  severity: 'error' | 'warning';
  name: string | null;
  value: number | null;
  unit: 'messages' | 'deliveries' | 'ms' | 'percent' | null;
  count: number | null;
  messageId: string | null;
  /** A sentence for people. */
  detail: string;
  sinceAtMs: number | null;
  untilMs: number | null;
}

export interface QueueState {
  name: string;
  ready: number;
  blocked?: number;
  delayed: number;
  retrying: number;
  inFlight: number;
  dead: number;
  sent: number;
  expired: number;
  died: number;
  rejected: number;
  timedOut: number;
  /** How the deliveries of the last 150 s have ended. */
  recent: { acknowledged: number; failed: number };
  lastFailedAtMs: number | null;
  lastFailed: FailedMessage | null;
  mostFailed: FailedMessage | null;
  hanging: { id: string; receives: number; worker: string | null; receivedAtMs: number } | null;
  findings: Finding[];
  oldestReadyMs: number | null;
  oldestBlockedMs: number | null;
  /** null: it is not paused, or until `resume()`. */
  pausedUntilMs: number | null;
  createdAtMs: number | null;
  /** When its settings were last written. */
  changedAtMs: number | null;
  settings: QueueSettings;
}

export interface ScheduleSettings {
  everyMs?: number | null | undefined;
  cron?: string | null | undefined;
  timeZone?: string | null | undefined;
  startAtMs?: number | null | undefined;
  endAtMs?: number | null | undefined;
  jitterMs?: number | null | undefined;
  limit?: number | null | undefined;
  priority?: number | null | undefined;
  overlap?: 'skip' | 'allow' | null | undefined;
  group?: string | null | undefined;
  body?: unknown;
  headers?: Record<string, string> | undefined;
}

export interface Schedule {
  id: string;
  everyMs: number | null;
  cron: string | null;
  timeZone: string;
  timeZoneVersion: string | null;
  startAtMs: number | null;
  endAtMs: number | null;
  limit: number | null;
  jitterMs: number;
  priority: number;
  overlap: 'skip' | 'allow';
  nextAtMs: number;
  lastAtMs: number | null;
  sent: number;
  missed: number;
  skipped: number;
  /** The next five instants. */
  next?: { atMs: number; localTime: string }[];
  /** Not in a list. */
  body?: any;
  headers?: Record<string, string>;
}

export interface QueuePause {
  name: string;
  paused: boolean;
  /** null: it is not paused, or until `resume()`. */
  pausedUntilMs: number | null;
}

export interface Group {
  group: string;
  ready: number;
  blocked: number;
  inFlight: number;
  oldestAtMs: number | null;
  /** Why no message of it is handed out. */
  reason: 'in_flight' | 'backoff' | 'limited' | 'paused' | null;
  untilMs: number | null;
}

export interface Workers {
  name: string;
  /** False: more than 1000 messages are in flight, and the counts are of 1000 of them. */
  isComplete: boolean;
  workers: {
    worker: string | null;
    firstReceiveAtMs: number | null;
    lastReceiveAtMs: number | null;
    inFlight: number;
    oldestReceivedAtMs: number | null;
  }[];
}

export class Client {
  /**
   * Of the daemon at `url`: http://HOST:PORT, https://..., or http+unix://%2Fpath%2Fof%2Fsocket; by
   * default the variable PATTERND_URL, else http://127.0.0.1:8379.
   */
  constructor(url?: string, options?: ClientOptions);
  timeoutMs: number;
  attemptMs: number;
  /** Closes idle connections; the client can be used again. */
  close(): void;
  /**
   * Any operation of the daemon but streams; `path` is percent-encoded. A request whose `body` is
   * null or undefined has none; a GET must have none.
   */
  request(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Response>;
  /**
   * Acquires a lock, runs `work` while it is extended, and releases it. Throws LockHeld when it is
   * not free within `waitMs`, and LockLost when it was lost before `work` ended.
   */
  lock<T>(name: string, options: LockOptions | undefined, work: (lock: Lock) => T | Promise<T>): Promise<T>;
  /** Acquires a lock, for the caller to release, or for `await using`. */
  lock(name: string, options?: LockOptions): Promise<Lock>;
  /** A lock that the daemon extends for as long as this connection lives. */
  hold(name: string, options?: HoldOptions): Promise<Hold>;
  queue(name: string): Queue;
  /** Counts a call if the limit, or a stored policy, has room for it. */
  limit(key: string, options: LimitOptions): Promise<Decision>;
  policies(options?: CallOptions): AsyncGenerator<Policy, void, undefined>;
  getPolicy(name: string, options?: CallOptions): Promise<Policy>;
  putPolicy(name: string, policy: PolicySettings, options?: CallOptions): Promise<Policy>;
  patchPolicy(name: string, changes: Partial<PolicySettings>, options?: CallOptions): Promise<Policy>;
  deletePolicy(name: string, options?: CallOptions): Promise<void>;
  /** Sends `body` to all that listen to the topic now. */
  publish(topic: string, body: unknown, options?: CallOptions): Promise<Publication>;
  /**
   * Listens to topics, and to patterns that end in `*`. Resolves when each later message comes.
   * Connects again by itself, and yields a `gap` then: reread what the messages are about.
   */
  listen<T = any>(names: string | readonly string[], options?: { signal?: Signal | undefined }): Promise<Listener<T>>;
  /**
   * The value of `key`, or what `fill` returns, which is stored for `ttlMs`. Of all callers one
   * runs `fill`; the others wait at the daemon for its value. When it throws or takes longer than
   * `fillMs`, the next caller runs its own.
   */
  cached<T>(key: string, options: CachedOptions<T>): Promise<T>;
}

export interface Publication {
  name: string;
  publishedAtMs: number;
  daemons: number;
  patternDaemons: number;
}

export type TopicEvent<T = any> =
  | { type: 'message'; topic: string; publishedAtMs: number; body: T }
  /** Messages before it may be lost. */
  | { type: 'gap' };

export class Listener<T = any> implements AsyncIterableIterator<TopicEvent<T>>, AsyncDisposable {
  private constructor();
  next(): Promise<IteratorResult<TopicEvent<T>, undefined>>;
  return(): Promise<IteratorResult<TopicEvent<T>, undefined>>;
  close(): void;
  [Symbol.asyncIterator](): this;
  [Symbol.asyncDispose](): Promise<void>;
}

export class Lock implements AsyncDisposable {
  private constructor();
  readonly name: string;
  /** Rises with each holder: pass it to what the lock protects. */
  readonly fence: number;
  /** Aborted when the lock may be another client's: stop the work then. */
  readonly lost: Signal;
  /** Throws LockLost when it was lost before. A lock that cannot be released expires by itself. */
  release(options?: CallOptions): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export class Hold implements AsyncDisposable {
  private constructor();
  readonly name: string;
  readonly fence: number;
  /** Aborted when the lock may be another client's: stop the work then. */
  readonly lost: Signal;
  /** Throws LockLost when it was lost before. */
  release(options?: CallOptions): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export class Message<T = any> implements AsyncDisposable {
  private constructor();
  readonly queue: string;
  readonly id: string;
  readonly receipt: string;
  readonly body: T;
  readonly receives: number;
  readonly priority: number;
  readonly sentAtMs: number;
  readonly traceparent: string | null;
  readonly headers: Record<string, string>;
  readonly group: string | null;
  /** Of the schedule that made it: its id, the instant, and how many before it were missed. */
  readonly schedule: { id: string; atMs: number; missed: number; requested?: boolean; last?: boolean } | null;
  readonly dedupeId: string | null;
  /** The queue in which the message died before it moved here. */
  readonly deadFrom: string | null;
  /** Its number, 16 digits, which rises with each message of the queue. */
  readonly sequence: string;
  /** Aborted when another worker may have the message, or the loop that received it has stopped. */
  readonly lost: Signal;
  /**
   * Removes the message for good, or keeps `result` in a queue with `resultMs`. False: the delivery
   * had ended, or was settled before. When it throws it may be called again; until then the
   * delivery is not extended.
   */
  acknowledge(result?: unknown, options?: AcknowledgeOptions): Promise<boolean>;
  /** Returns it to the queue, due after `delayMs` or the queue's backoff; or makes it dead. */
  reject(delayMs?: number, options?: RejectOptions): Promise<boolean>;
  /**
   * It is extended by itself; this reports progress, or changes for how long it is hidden from
   * others. False: the delivery has ended.
   */
  extend(visibilityMs?: number, progress?: Progress, options?: CallOptions): Promise<boolean>;
  /** Rejects it unless it was settled. */
  [Symbol.asyncDispose](): Promise<void>;
}

export class Queue {
  private constructor();
  readonly name: string;
  send(body: unknown, options?: SendOptions): Promise<Sent>;
  /** Up to 100 messages, all or none. */
  sendMany(
    messages: readonly (MessageOptions & { body: unknown })[],
    options?: SendManyOptions,
  ): Promise<Sent[]>;
  /**
   * Works the queue until it is stopped: runs `handler` for `concurrency` messages at once. What it
   * returns becomes the result; when it throws, the message is rejected with that as its reason.
   * Continues after an outage of any length. Throws what repetition cannot correct, such as a bad
   * token.
   */
  work<T = any>(handler: (message: Message<T>) => unknown, options?: WorkOptions): Promise<void>;
  /** One message, or null. It is extended until it is settled. */
  receive<T = any>(options?: ReceiveOptions & CallOptions): Promise<Message<T> | null>;
  /**
   * For small scripts: messages, one after the other, until `stop` is aborted. A message is
   * acknowledged when the loop asks for the next one. It is rejected when the loop is left before
   * that, by an error, `break` or `return`. Throws after an outage of `timeoutMs`.
   */
  messages<T = any>(options?: LoopOptions): AsyncGenerator<Message<T>, void, undefined>;
  get(options?: CallOptions): Promise<QueueState>;
  /** Replaces all settings. */
  put(settings: QueueSettings, options?: CallOptions): Promise<{ name: string; settings: QueueSettings }>;
  /** Changes the settings that are named; null resets one. */
  patch(settings: QueueSettings, options?: CallOptions): Promise<{ name: string; settings: QueueSettings }>;
  delete(options?: CallOptions): Promise<void>;
  /** With `waitMs` it waits for the message's end, in a queue with `resultMs`. */
  getMessage(id: string, options?: CallOptions & { waitMs?: number | undefined }): Promise<StoredMessage>;
  /** Cancels a message; with `inFlight` also one that is worked on, whose delivery is lost then. */
  deleteMessage(id: string, options?: CallOptions & { inFlight?: boolean | undefined }): Promise<void>;
  /** Removes the messages that `which` selects, or all; the settings stay. Returns how many. */
  purge(which?: PurgeOptions): Promise<{ name: string; purged: number }>;
  /** Makes dead letters ready again, the longest dead first, or moves them to the queue `to`. */
  redrive(which?: RedriveOptions): Promise<{ name: string; redriven: number; duplicates: number }>;
  schedules(options?: CallOptions): AsyncGenerator<Schedule, void, undefined>;
  getSchedule(id: string, options?: CallOptions): Promise<Schedule>;
  putSchedule(id: string, schedule: ScheduleSettings, options?: CallOptions): Promise<Schedule>;
  patchSchedule(id: string, changes: ScheduleSettings, options?: CallOptions): Promise<Schedule>;
  /** Sends a schedule's message now. */
  runSchedule(id: string, options?: CallOptions): Promise<{ id: string; messageId: string }>;
  deleteSchedule(id: string, options?: CallOptions): Promise<void>;
  groups(options?: CallOptions): AsyncGenerator<Group, void, undefined>;
  /** The workers that received in the last hour, or have messages of the queue. */
  workers(options?: CallOptions): Promise<Workers>;
  /** Delivers nothing for so long, or until `resume()`. A longer pause stays. */
  pause(forMs?: number, options?: CallOptions): Promise<QueuePause>;
  resume(options?: CallOptions): Promise<QueuePause>;
  pauseGroup(group: string, forMs: number, options?: CallOptions): Promise<Group>;
  resumeGroup(group: string, options?: CallOptions): Promise<Group>;
}
