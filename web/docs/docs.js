// /docs: the contract of the running daemon, to read and to try, by Swagger UI. A token stays in
// this page's memory.
import { nameControls } from './names.js';
import { docsPlugin, splitDescription } from './plugin.js';

const access = document.getElementById('access');
const token = document.getElementById('token');
const trouble = document.getElementById('trouble');

async function contract(bearer) {
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

function show(spec, bearer) {
  access.remove();
  const base = new URL('.', document.baseURI).href.replace(/\/$/, '');
  if (!bearer) {
    delete spec.security; // this daemon asks for no token: no padlocks
    delete spec.components.securitySchemes;
    for (const item of Object.values(spec.paths))
      for (const operation of Object.values(item)) delete operation.security;
  }
  const { first, rest } = splitDescription(spec.info.description);
  spec.servers = [{ url: base, description: 'This daemon.' }];
  spec.info.description = first;
  nameControls(document.getElementById('api'));
  const ui = window.SwaggerUIBundle({
    dom_id: '#api',
    spec,
    docExpansion: 'list',
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    filter: true,
    validatorUrl: null, // no other host is asked
    plugins: [docsPlugin({ spec, base, withToken: bearer !== '', rules: rest })],
    onComplete() {
      if (bearer) ui.preauthorizeApiKey('bearer', bearer);
    },
  });
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

// The page is absent with --ui=off.
fetch('ui', { method: 'HEAD' })
  .then((answer) => {
    document.getElementById('ui').hidden = !answer.ok;
  })
  .catch(() => {});
access.addEventListener('submit', (event) => {
  event.preventDefault();
  open(token.value.trim());
});
open('');
