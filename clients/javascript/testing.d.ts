/// <reference lib="esnext.disposable" />
/** For tests in Node.js: a daemon with a private Redis, on a free port. */
import type { Client, ClientOptions } from './patternd.js';

export interface DaemonOptions {
  /** The program: without it $PATTERND, or `patternd` in PATH. */
  program?: string | undefined;
  /** More options of it, such as ['--max-body-bytes', '1000']. */
  options?: readonly string[] | undefined;
}

export interface Daemon extends AsyncDisposable {
  /** Of its first address: http://127.0.0.1:PORT, or what `--listen` in `options` names. */
  readonly url: string;
  /** Undefined when the first address is a Unix socket. */
  readonly port: number;
  /** The last lines of its log. */
  readonly log: string;
  /** A client of it. */
  client(options?: ClientOptions): Client;
  /** Ends it, with its Redis and all data. */
  stop(): Promise<void>;
}

/** Starts a daemon, and resolves when it is ready. */
export function daemon(options?: DaemonOptions): Promise<Daemon>;
