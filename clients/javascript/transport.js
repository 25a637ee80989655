/**
 * Carries one request: by node:http where it exists, otherwise by fetch. A transport decides
 * nothing. `exchange` sends, resolves with the head of the answer, and closes the connection as
 * soon as the signal is aborted. It sets `isSent` of the call when a byte may have left; fetch does
 * not know.
 */
export async function openTransport(url, files) {
  if (globalThis.process?.versions?.node) {
    const { NodeTransport } = await import('./transport_node.js');
    if (NodeTransport) {
      // bundles for browsers are without it, by package.json
      return new NodeTransport(url, files);
    }
  }
  if (url.protocol === 'http+unix:' || Object.values(files).some(Boolean)) {
    throw new TypeError('http+unix, caFile, certFile and keyFile need Node.js');
  }
  return new FetchTransport(url);
}

class FetchTransport {
  #base;

  constructor(url) {
    this.#base = url.origin + url.pathname.replace(/\/+$/, '');
  }

  /** The body is read by `text`, or as an async iterator of bytes by `chunks`. */
  async exchange({ method, path, headers, body, signal }) {
    const init = { method, headers, body, signal, redirect: 'error', credentials: 'omit' };
    const response = await fetch(this.#base + path, init);
    const { status, headers: fields } = response;
    return { status, headers: fields, text: () => response.text(), chunks: () => chunksOf(response.body) };
  }

  close() {}
}

/** Not every browser can iterate over a ReadableStream. */
async function* chunksOf(stream) {
  const reader = stream?.getReader();
  try {
    for (let step = await reader?.read(); step && !step.done; step = await reader.read()) {
      yield step.value;
    }
  } finally {
    reader?.cancel().catch(() => {});
  }
}
