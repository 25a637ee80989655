/**
 * For tests in Node.js: a daemon with a private Redis, on a free port. It needs the programs
 * patternd and redis-server, and leaves nothing behind.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Client } from './client.js';

const READY_MS = 30000;
const END_MS = 10000;
const LINES_MAX = 50;

/** Starts one, and resolves when it is ready. */
export async function daemon({ program = process.env.PATTERND ?? 'patternd', options = [] } = {}) {
  const started = new Daemon(program, options);
  try {
    await started._ready();
  } catch (error) {
    await started.stop();
    throw error;
  }
  return started;
}

/** The environment without options of another daemon. */
const environment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PATTERND_')));

class Daemon {
  #process;
  #ended;
  #lines = [];
  #kill = () => this.#process.kill('SIGTERM');

  constructor(program, options) {
    const given = ['--embedded', '--listen', '127.0.0.1:0', ...options];
    this.#process = spawn(program, given, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    createInterface({ input: this.#process.stderr }).on('line', (line) => {
      this.#lines = [...this.#lines, line].slice(-LINES_MAX);
    });
    this.#ended = new Promise((resolve) => {
      this.#process.once('error', (error) => resolve(`${program}: ${error.message}`));
      this.#process.once('exit', (code, signal) => resolve(`${program} has ended with ${code ?? signal}`));
    });
    process.once('exit', this.#kill); // a test that fails leaves none running
  }

  async _ready() {
    const timer = new AbortController();
    const late = new Promise((resolve) => {
      const wait = setTimeout(() => resolve('it is not ready in time'), READY_MS);
      timer.signal.addEventListener('abort', () => clearTimeout(wait));
    });
    const why = await Promise.race([this.#read(), this.#ended, late]);
    timer.abort();
    if (why) {
      throw new Error(`patternd does not start: ${why}\n${this.#lines.join('\n')}`);
    }
  }

  /** Resolves when it is ready. Then it prints its first address, whatever the level of its log. */
  #read() {
    return new Promise((resolve) => {
      createInterface({ input: this.#process.stdout }).on('line', (line) => {
        const address = /^patternd listens on (.+); /.exec(line)?.[1];
        if (address) {
          const path = /^unix:(.*)/.exec(address)?.[1];
          this.url = path ? `http+unix://${encodeURIComponent(path)}` : address;
          this.port = Number(/:(\d+)$/.exec(address)?.[1]) || undefined; // a Unix socket has none
          resolve();
        }
      });
    });
  }

  /** A client of it. */
  client(options) {
    return new Client(this.url, options);
  }

  /** Ends it, with its Redis and all data. */
  async stop() {
    process.off('exit', this.#kill);
    this.#kill();
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), END_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** Its log: the last lines. */
  get log() {
    return this.#lines.join('\n');
  }
}

if (Symbol.asyncDispose) {
  Daemon.prototype[Symbol.asyncDispose] = Daemon.prototype.stop;
}
