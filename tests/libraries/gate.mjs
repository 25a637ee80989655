// Helpers for tests of the JavaScript client: a way to a daemon that can be shut, opened and made
// mute, and functions that several tests use.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Waits until `look` returns something true; fails after `ms`. */
export async function until(look, what, ms = 30000) {
  const deadline = performance.now() + ms;
  for (;;) {
    const seen = await look();
    if (seen) {
      return seen;
    }
    assert(performance.now() < deadline, `${what}: not within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** How a test lets a call of the client proceed, by as little as can be. */
export const turns = {
  microtask: () => null,
  immediate: () => new Promise((resolve) => setImmediate(resolve)),
  timer: () => new Promise((resolve) => setTimeout(resolve, 1)),
};

/** Returns the error of a call that has to fail, and how long the call took. */
export async function thrown(call) {
  const began = performance.now();
  const error = await call.then(
    (value) => assert.fail(`it returned ${value}`),
    (reason) => reason,
  );
  return { error, ms: performance.now() - began };
}

export class Gate {
  /** Sockets of clients that are open. */
  sockets = new Set();
  /** Whether the gate closes a connection instead of passing an answer. */
  isMute = false;
  /** How late answers pass. */
  delayMs = 0;
  /** How many connections were made. */
  count = 0;

  /** Opens a gate to `port`. Without a port no request is answered. */
  static async to(port) {
    const gate = new Gate();
    gate.target = port;
    await gate.open(0);
    return gate;
  }

  async open(port = this.port) {
    this.server = createServer((socket) => this.#carry(socket)).listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
  }

  #carry(socket) {
    this.count++;
    this.sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.sockets.delete(socket));
    if (this.target === undefined) {
      socket.resume();
      return;
    }
    const daemon = connect(this.target, '127.0.0.1');
    const end = () => {
      socket.destroy();
      daemon.destroy();
    };
    const pass = (data) => (this.isMute ? end() : socket.write(data));
    daemon.on('data', (data) => (this.delayMs ? setTimeout(pass, this.delayMs, data).unref() : pass(data)));
    socket.on('data', (data) => daemon.write(data));
    for (const side of [socket, daemon]) {
      side.on('error', end).on('close', end);
    }
  }

  /** Ends the open connections; no request of the next ones is answered. */
  async freeze() {
    this.thawed ??= this.target;
    this.target = undefined;
    this.sockets.forEach((socket) => socket.destroy());
  }

  /** Opens it again after `shut` or `freeze`. */
  async thaw() {
    this.target = this.thawed ?? this.target;
    await (this.server.listening || this.open());
  }

  /** Refuses new connections, and ends the open ones. */
  async shut() {
    if (this.server.listening) {
      this.server.close();
      this.sockets.forEach((socket) => socket.destroy());
      await once(this.server, 'close');
    }
  }
}
