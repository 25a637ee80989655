/** The transport of Node.js: HTTP, HTTPS with your own files, and Unix sockets. */
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const IDLE_MS = 30000; // less than the daemon's --idle-timeout-ms

/** Rereads the files for each connection, so that renewed certificates need no restart. */
class TlsAgent extends https.Agent {
  #files;

  constructor(options, files) {
    super({ ...options, maxCachedSessions: 0 });
    this.#files = Object.entries(files).filter(([, file]) => file);
  }

  createConnection(options, ...more) {
    const read = Object.fromEntries(this.#files.map(([name, file]) => [name, readFileSync(file)]));
    return super.createConnection({ ...options, ...read }, ...more);
  }
}

export class NodeTransport {
  #request = http.request;
  #where;
  #base;
  #connected = 'connect';

  constructor(url, { ca, cert, key }) {
    const options = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 256 };
    if (url.protocol === 'http+unix:') {
      this.#where = { socketPath: decodeURIComponent(url.host), host: 'localhost' };
    } else {
      this.#where = { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port || undefined };
    }
    this.#where.agent = new http.Agent(options);
    if (url.protocol === 'https:') {
      this.#request = https.request;
      this.#where.agent = new TlsAgent(options, { ca, cert, key });
      this.#connected = 'secureConnect';
    }
    this.#base = url.pathname.replace(/\/+$/, '');
  }

  exchange(call) {
    const { method, path, headers, body, signal, isBackground } = call;
    return new Promise((resolve, reject) => {
      call.isSent = false;
      const request = this.#request({ ...this.#where, method, path: this.#base + path, headers });
      let response;
      const abort = () => {
        response?.destroy(signal.reason);
        request.destroy(signal.reason);
      };
      request.on('socket', (socket) => {
        if (isBackground) {
          socket.unref();
        }
        call.isSent = request.reusedSocket;
        if (!request.reusedSocket) {
          socket.once(this.#connected, () => {
            call.isSent = true;
          });
        }
      });
      request.on('response', (answer) => {
        response = answer;
        response.on('error', () => {}); // the reader of the body listens, too
        resolve(headOf(response));
      });
      request.on('error', reject);
      request.on('close', () => signal.removeEventListener('abort', abort));
      signal.addEventListener('abort', abort);
      request.end(body);
    });
  }

  /** Closes what is idle. */
  close() {
    Object.values(this.#where.agent.freeSockets)
      .flat()
      .forEach((socket) => socket.destroy());
  }
}

function headOf(response) {
  const text = () =>
    new Promise((resolve, reject) => {
      let whole = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        whole += part;
      });
      response.on('end', () => resolve(whole));
      response.on('error', reject);
    });
  return { status: response.statusCode, headers: new Fields(response.headers), text, chunks: () => response };
}

/** What the client needs of Headers, which take a while to load in Node.js. */
class Fields {
  #fields;

  constructor(fields) {
    this.#fields = fields;
  }

  get(name) {
    return this.#fields[name.toLowerCase()] ?? null;
  }

  has(name) {
    return name.toLowerCase() in this.#fields;
  }
}
