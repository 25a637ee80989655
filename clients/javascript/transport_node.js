/** The transport of Node.js: HTTP, HTTPS with your own files, and Unix sockets. */
import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const IDLE_MS = 30000; // less than the daemon's --idle-timeout-ms
/**
 * A daemon that refuses a request by its headers closes the connection, and discards a mebibyte at
 * most. A longer body would break the connection before the answer is read. So it is sent when the
 * daemon asks for it, or after CONTINUE_MS, since a proxy may not ask.
 */
const EXPECT_BYTES = 512 * 1024;
const CONTINUE_MS = 1000;

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

/**
 * Shares the name lookup that is under way. Node.js cannot cancel one, so after a stop each further
 * one would keep the program alive.
 */
function sharedLookup() {
  let asking = [];
  return (host, options, found) => {
    asking.push(found);
    if (asking.length === 1) {
      dns.lookup(host, options, (...answer) => {
        const told = asking;
        asking = [];
        told.forEach((one) => one(...answer));
      });
    }
  };
}

export class NodeTransport {
  #request = http.request;
  #where;
  #base;
  #isSecure;
  #isKnown = false; // something that speaks HTTP has answered

  constructor(url, { ca, cert, key }) {
    const options = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 256 };
    if (url.protocol === 'http+unix:') {
      this.#where = { socketPath: decodeURIComponent(url.host), host: 'localhost' };
    } else {
      this.#where = { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port || undefined };
      this.#where.lookup = sharedLookup();
    }
    this.#where.agent = new http.Agent(options);
    this.#isSecure = url.protocol === 'https:';
    if (this.#isSecure) {
      this.#request = https.request;
      this.#where.agent = new TlsAgent(options, { ca, cert, key });
    }
    this.#base = url.pathname.replace(/\/+$/, '');
  }

  exchange(call) {
    const { signal, isBackground } = call;
    return new Promise((resolve, reject) => {
      call.isSent = false;
      const request = this.#send(call);
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
          socket.once(this.#isSecure ? 'secureConnect' : 'connect', () => {
            call.isSent = true;
          });
        }
      });
      request.on('response', (answer) => {
        this.#isKnown = true;
        response = answer;
        response.on('error', () => {}); // the reader of the body listens, too
        resolve(headOf(response));
      });
      request.on('error', (error) => reject(this.#explained(error, call.isSent)));
      request.on('close', () => signal.removeEventListener('abort', abort));
      signal.addEventListener('abort', abort);
    });
  }

  #send({ method, path, headers, body }) {
    const options = { ...this.#where, method, path: this.#base + path, headers };
    const bytes = Buffer.from(body ?? '');
    if (bytes.length) {
      // Node.js sends the body of a DELETE without its length, as if it were the next request.
      options.headers = { ...headers, 'Content-Length': bytes.length };
    }
    if (bytes.length < EXPECT_BYTES) {
      return this.#request(options).end(bytes);
    }
    options.headers.Expect = '100-continue';
    const request = this.#request(options);
    const timer = setTimeout(() => request.end(bytes), CONTINUE_MS);
    request.once('continue', () => {
      clearTimeout(timer);
      request.writableEnded || request.end(bytes); // it may come after that time
    });
    request.once('close', () => clearTimeout(timer));
    request.once('response', (response) => {
      clearTimeout(timer);
      response.once('end', () => request.writableEnded || request.destroy());
    });
    request.flushHeaders();
    return request;
  }

  /** Names the likely mistake, if there is a server at the address that may speak no HTTP. */
  #explained(error, isSent) {
    const isClosed = error.code === 'ECONNRESET' && isSent !== this.#isSecure; // in the handshake, or after it
    const isForeign = /^HPE_/.test(error.code) || (error.code === 'EPROTO' && !/alert/.test(error.message));
    if (!this.#isKnown && (isClosed || isForeign)) {
      const other = this.#isSecure ? 'http://' : "https://, or Redis's";
      error.message = `${error.message.trim()} (is this address ${other}?)`;
    }
    return error;
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
