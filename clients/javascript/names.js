/** Names and ids: members in the form of the contract or of JavaScript, paths, keys. */
import { Problem } from './problem.js';

// Not literals of import(), which bundlers would look for.
const NODE_CRYPTO = 'node:crypto';
const NODE_OS = 'node:os';
/** Values that belong to the program: their members keep their names. */
const OPAQUE = new Set(['annotations', 'body', 'headers', 'metadata', 'result']);

function renamed(value, pattern, rename) {
  if (Array.isArray(value)) {
    return value.map((one) => renamed(one, pattern, rename));
  }
  if (value === null || typeof value !== 'object') {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [
        name.replace(pattern, rename),
        OPAQUE.has(name) ? member : renamed(member, pattern, rename),
      ]),
  );
}

/** Members as the contract names them, also of objects within; undefined ones are left out. */
export const toContract = (members = {}) => renamed(members, /[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
export const fromContract = (members) => renamed(members, /_([a-z])/g, (_, letter) => letter.toUpperCase());

export function pathOf(...parts) {
  if (parts.some((part) => part === '.' || part === '..')) {
    throw new Problem(0, { code: 'reserved_name', detail: "'.' and '..' are reserved", effect: 'none' });
  }
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}

/** Browsers have crypto.randomUUID only in secure contexts, Node.js 18 has no global crypto. */
export async function makeKey() {
  const crypto = globalThis.crypto ?? (await import(NODE_CRYPTO)).webcrypto;
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The text of whatever was thrown. Its own `toString` and getters may throw as well. */
export function textOf(cause) {
  try {
    return String(cause);
  } catch {
    return 'an error that has no text';
  }
}

/** As much of a text as fits into so many bytes, without half a character. */
function cut(text, bytes) {
  const most = new TextEncoder().encode(text.slice(0, bytes)).subarray(0, bytes);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(most, { stream: true });
}

/** The label of a receiver: by default its host and process. A browser has none. */
export async function workerOf(given) {
  if (given !== undefined) {
    return given || undefined;
  }
  if (!globalThis.process?.versions?.node) {
    return undefined;
  }
  const { hostname } = await import(NODE_OS);
  return `${hostname()}/${process.pid}`;
}

/** A reason as the daemon takes it: not empty, at most 1000 bytes. */
export const reasonOf = (cause) => cut(textOf(cause), 1000) || 'no reason was given';
