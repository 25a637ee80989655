// The time by the clock of the server. Instants of the API are by the clocks of Redis and the
// daemon, and the browser's clock may differ by minutes: an age or a due time that is computed from
// it would be wrong. The page knows the daemon's clock from the Date header of each answer, and how
// far Redis's is ahead of it from GET /info.
export const SECOND_MS = 1000; // a Date header has whole seconds

let offset = 0; // of the daemon's clock from the browser's
let ofRedis = 0; // of Redis's clock from the daemon's

/** Milliseconds since 1970, by Redis's clock. Compare instants of the API with this only. */
export const now = () => Date.now() + offset + ofRedis;

/** How far the daemon's clock is ahead of the browser's, in milliseconds. */
export const ofBrowser = () => offset;

/**
 * An answer's Date header bounds the offset: the header was written between `sent` and `received`,
 * and up to a second is cut off. The offset changes only when it is outside of these bounds, so
 * answers make it more exact, and it follows when a clock is set.
 */
export function learnClock(date, sent, received) {
	const server = Date.parse(date ?? '');
	if (Number.isNaN(server)) return;
	offset = Math.min(Math.max(offset, server - received), server + SECOND_MS - sent);
}

/** The servers of GET /info. A difference of less than a second may be one of measuring. */
export function learnRedis(nodes) {
	const offset_ms = nodes.find((node) => node.clock_offset_ms !== null)?.clock_offset_ms ?? 0;
	ofRedis = Math.abs(offset_ms) < SECOND_MS ? 0 : offset_ms;
}
