// /docs: the contract of the running daemon, to read and to try, by Swagger UI. A token stays in
// this page's memory.
//
// The site of the documentation has this page too, without a daemon. There, a script of
// tools/site/build sets `published`: the contract, the kinds of problems, and where both are
// explained.
import { nameControls } from './names.js';
import { docsPlugin, splitDescription } from './plugin.js';

const access = document.getElementById('access');
const token = document.getElementById('token');
const trouble = document.getElementById('trouble');
const other = document.getElementById('other');
const { published } = window;

async function contract(bearer) {
  if (published) return published.contract;
  const answer = await fetch('openapi.json', { headers: bearer ? { Authorization: `Bearer ${bearer}` } : {} });
  if (answer.status === 401) {
    access.hidden = false;
    token.focus();
    if (bearer) throw new Error('This token is not known here.');
    return null;
  }
  if (!answer.ok) throw new Error(`GET /openapi.json was answered with ${answer.status}.`);
  return answer.json();
}

/** What the daemon has for each code of a problem, asked once. */
function explainer(bearer) {
  let known = null;
  return () => {
    known ??= problemKinds(bearer).catch((error) => {
      known = null;
      throw error;
    });
    return known;
  };
}

async function problemKinds(bearer) {
  const headers = bearer ? { Authorization: `Bearer ${bearer}` } : {};
  const kinds = new Map(published?.problems.map((kind) => [kind.code, kind]));
  for (let cursor = published ? null : ''; cursor !== null; ) {
    const answer = await fetch(`problems?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, { headers });
    if (!answer.ok) throw new Error(`GET /problems was answered with ${answer.status}.`);
    const page = await answer.json();
    for (const kind of page.items) kinds.set(kind.code, kind);
    cursor = page.next_cursor;
  }
  return kinds;
}

// The example of a header would be sent by each try: the same key makes the second one a replay of
// the first, the same id makes all requests one in the logs, and no lock has the token.
function withoutExamples({ components: { parameters }, paths }) {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  for (const one of [...Object.values(parameters), ...operations.flatMap((operation) => operation.parameters ?? [])])
    if (one.in === 'header' && !one.required) delete one.example;
  parameters.IdempotencyKey.description += '\nIf it is empty, this page sends a new one with each try.';
}

const freshKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Whether the operation of a request takes an Idempotency-Key. */
function takesKey(spec, base, { method, url }) {
  const asked = new URL(url).pathname.slice(new URL(base).pathname.replace(/\/$/, '').length).split('/');
  return Object.entries(spec.paths).some(([path, item]) => {
    const steps = path.split('/');
    const fits = steps.length === asked.length && steps.every((one, at) => one.startsWith('{') || one === asked[at]);
    const keyed = item[method.toLowerCase()]?.parameters?.some((one) => one.$ref?.endsWith('/IdempotencyKey'));
    return fits && keyed;
  });
}

function show(spec, bearer) {
  access.remove();
  const base = published ? spec.servers[0].url : new URL('.', document.baseURI).href.replace(/\/$/, '');
  if (!bearer) {
    delete spec.security; // this daemon asks for no token: no padlocks
    delete spec.components.securitySchemes;
    for (const item of Object.values(spec.paths))
      for (const operation of Object.values(item)) delete operation.security;
  }
  const { first, rest } = splitDescription(spec.info.description);
  spec.servers = [{ url: base, description: 'This daemon.' }];
  spec.info.description = first;
  if (!published) withoutExamples(spec);
  nameControls(document.getElementById('api'));
  const ui = window.SwaggerUIBundle({
    dom_id: '#api',
    spec,
    docExpansion: 'none',
    deepLinking: true,
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    filter: true,
    validatorUrl: null, // no other host is asked
    ...(published && { supportedSubmitMethods: [] }), // nothing can be tried
    plugins: [
      docsPlugin({
        spec,
        base,
        withToken: bearer !== '',
        rules: rest,
        explain: explainer(bearer),
        problemsAt: published?.problemsAt ?? 'problems/',
      }),
    ],
    requestInterceptor(request) {
      const given = Object.keys(request.headers ?? {}).some((name) => name.toLowerCase() === 'idempotency-key');
      const isKeyed = takesKey(spec, base, { method: 'GET', ...request });
      if (isKeyed && !given) request.headers['Idempotency-Key'] = freshKey();
      return request;
    },
    onComplete() {
      if (bearer) ui.preauthorizeApiKey('bearer', bearer);
    },
  });
  addEventListener('hashchange', () => ui.layoutActions.parseDeepLinkHash(location.hash));
}

async function open(bearer) {
  trouble.textContent = '';
  try {
    const spec = await contract(bearer);
    if (spec) show(spec, bearer);
  } catch (error) {
    trouble.textContent = error.message;
  }
}

if (published) {
  other.href = '../index.html';
  other.textContent = 'Documentation';
  other.hidden = false;
} else {
  // The page is absent with --ui=off.
  fetch('ui', { method: 'HEAD' })
    .then((answer) => {
      other.hidden = !answer.ok;
    })
    .catch(() => {});
}
access.addEventListener('submit', (event) => {
  event.preventDefault();
  open(token.value.trim());
});
open('');
