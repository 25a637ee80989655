// /docs: the contract of the running daemon, to read and to try, by Swagger UI. A token stays in
// this page's memory.
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
  spec.servers = [{ url: new URL('.', document.baseURI).href.replace(/\/$/, ''), description: 'This daemon.' }];
  const ui = window.SwaggerUIBundle({
    dom_id: '#api',
    spec,
    docExpansion: 'list',
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    filter: true,
    validatorUrl: null, // no other host is asked
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
