/** What a call throws: the problem details of a refusal or a failure (RFC 9457). */
export class Problem extends Error {
  constructor(status, body, retryAfter = null, options = undefined) {
    super(`${body.code}: ${body.detail ?? body.title}`, options);
    this.name = new.target.name;
    this.status = status;
    this.body = body;
    this.code = body.code;
    this.detail = body.detail ?? '';
    this.effect = body.effect ?? 'unknown';
    this.retryAfter = retryAfter;
    this.repeated = false;
  }
}

export class LockHeld extends Problem {}
export class LockLost extends Problem {}

const KINDS = new Map([
  ['lock_held', LockHeld],
  ['not_holder', LockLost],
]);

/** Whether a proxy made the answer: the daemon's own pages are for browsers. */
export const isPage = (headers) => Boolean(headers.get('Content-Type')?.includes('text/html'));

/** The problem of an answer; `lost` is the effect of a request whose answer is lost. */
export function problemOf(status, headers, body, lost) {
  const isProblem = body && typeof body === 'object' && body.code;
  // Otherwise a proxy between the client and the daemon made the answer.
  const isRedirect = status >= 300 && status < 400;
  const text = isRedirect ? `a redirect to ${headers.get('Location') ?? ''}` : String(body ?? '');
  const details = isProblem
    ? body
    : {
        code: `status_${status}`,
        detail: isPage(headers) ? 'a page, not an answer' : text,
        effect: status >= 300 && status < 500 ? 'none' : lost,
      };
  const seconds = headers.get('Retry-After');
  return new (KINDS.get(details.code) ?? Problem)(status, details, /^\d+$/.test(seconds) ? Number(seconds) : null);
}

/** Whether the same request may succeed later. */
export function mayPass(problem) {
  return [0, 502, 503, 504].includes(problem.status) || problem.code === 'request_in_progress';
}
