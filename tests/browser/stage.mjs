// Shared by the tests of the pages: the built daemon on a private Redis, a browser, and a check
// that its tabs had no error and sent no request elsewhere.
//
//   const stage = await open('--ui=write');        the daemon with these options, and Chromium
//   const page = await stage.visit('/ui');         a page; its errors and foreign requests are kept
//   ...
//   const proxy = await startProxy(stage.url, '/below');      ... or by a reverse proxy:
//   await stage.visit('/below/ui', proxy.url)
//   stage.assertClean();                           no error, no request to any other host
//   await stage.close();
//
// PATTERND_BIN names the program (build/patternd), CHROMIUM the browser (/usr/bin/chromium).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request as ask } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const PROGRAM = process.env.PATTERND_BIN ?? join(ROOT, 'build/patternd');
const BROWSER = process.env.CHROMIUM ?? '/usr/bin/chromium';
const START_MS = 30_000,
  STEP_MS = 60_000; // machines may be busy

/**
 * Starts the daemon on a free port, and returns when it is ready. A test may kill `process`; `url`
 * has no slash at its end.
 */
export async function startDaemon(...options) {
  const daemon = spawn(PROGRAM, ['--listen', '127.0.0.1:0', '--embedded', ...options], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = [];
  const url = await new Promise((resolve, reject) => {
    daemon.once('error', reject);
    daemon.once('exit', () => reject(new Error(`the daemon did not start:\n${said.join('\n')}`)));
    createInterface({ input: daemon.stderr }).on('line', (line) => {
      said.push(line);
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
      if (found) resolve(found[0]);
    });
  });
  const deadline = Date.now() + START_MS;
  while ((await fetch(`${url}/readyz`)).status !== 200) {
    assert.ok(Date.now() < deadline, `the daemon is not ready:\n${said.join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    url,
    process: daemon,
    async stop() {
      if (daemon.exitCode !== null || daemon.signalCode !== null) return;
      daemon.kill('SIGTERM');
      await once(daemon, 'exit');
    },
  };
}

/** The process of the Redis that an embedding daemon has started. */
export async function redisOf({ process: { pid } }) {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}

/** Starts a redis-server on a Unix socket, and returns its `url` when it listens. */
export async function startRedis() {
  const folder = await mkdtemp(join(tmpdir(), 'patternd-redis-'));
  const socket = join(folder, 'socket');
  const redis = spawn('redis-server', ['--port', '0', '--unixsocket', socket, '--save', ''], { stdio: 'ignore' });
  const exited = once(redis, 'exit');
  const deadline = Date.now() + START_MS;
  async function stop() {
    redis.kill('SIGKILL');
    await exited;
    await rm(folder, { recursive: true, force: true });
  }
  while (!existsSync(socket)) {
    if (Date.now() > deadline || redis.exitCode !== null) {
      await stop();
      assert.fail('redis-server did not start');
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { url: `unix://${socket}`, stop };
}

/** Starts a reverse proxy that serves the paths of a daemon below `prefix`. */
export async function startProxy(url, prefix) {
  const server = createServer((request, response) => {
    const path = request.url.slice(prefix.length);
    if (!request.url.startsWith(prefix) || !path.startsWith('/')) {
      response.writeHead(404).end();
      return;
    }
    const onward = ask(url + path, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Starts a daemon with these options, and a browser. */
export async function open(...options) {
  const daemon = await startDaemon(...options);
  const profile = await mkdtemp(join(tmpdir(), 'patternd-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: BROWSER,
    headless: true,
    chromiumSandbox: false,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  context.setDefaultTimeout(STEP_MS);
  const errors = []; // of the console and of scripts; the console reports violations of the Content-Security-Policy
  const foreign = []; // requests to any server that no tab has opened
  const visited = new Set();
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'blob:' && !visited.has(origin)) foreign.push(request.url());
  });

  return {
    daemon,
    url: daemon.url,
    errors,
    foreign,

    /** Opens a path of the daemon in a new tab. */
    async visit(path, url = daemon.url) {
      visited.add(url);
      const page = await context.newPage();
      page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
      page.on('pageerror', (error) => errors.push(String(error)));
      await page.goto(url + path);
      return page;
    },

    assertClean() {
      assert.deepEqual({ errors, foreign }, { errors: [], foreign: [] });
    },

    async close() {
      await context.close();
      await daemon.stop();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
