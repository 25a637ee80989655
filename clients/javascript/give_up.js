/**
 * Grants that no caller will use. When a call that grants something ends without its answer, the
 * daemon may have granted it, and keeps it for a retry with the same Idempotency-Key. So the same
 * request is sent once more in the background, and what it is granted is released. This is the best
 * that a client can do: what it does not reach in time expires by itself.
 */
import { now } from './clock.js';

const MOST_MS = 5000;
const FIRST_MS = 250; // of the first attempt that may only wait; each further one gets twice as long

/**
 * The answer of `call`, which grants something for `lastsMs`. `releases` makes the calls that
 * release what an answer grants.
 */
export async function granted(client, call, { lastsMs, ...options }, releases) {
  try {
    return await client._repeated(call, options);
  } catch (error) {
    const isUnknown = options.signal?.aborted || error.effect === 'unknown';
    if (isUnknown && call.isDoubtful && call.headers['Idempotency-Key']) {
      const timeoutMs = Math.min(lastsMs, MOST_MS);
      const firstMs = options.waitMs ? FIRST_MS : undefined;
      repeated(client, call, { timeoutMs, firstMs }, releases).catch(() => {});
    }
    throw error;
  }
}

async function repeated(client, call, options, releases) {
  const deadline = now() + options.timeoutMs;
  const answer = await inBackground(client, call, options);
  await Promise.all(releases(answer).map((one) => inBackground(client, one, { timeoutMs: deadline - now() })));
}

/** Releases a grant that was answered, but cannot be used. */
export function giveUp(client, call, lastsMs) {
  inBackground(client, call, { timeoutMs: Math.min(lastsMs, MOST_MS) }).catch(() => {});
}

/** Without warnings, and without keeping the program alive. */
function inBackground(client, call, options) {
  return client._repeated({ ...call, isBackground: true }, options);
}
