// How to send an operation's example without this page: with curl, with the clients for Python and
// JavaScript, and in Go with its standard library.

const isStream = (operation) =>
  Object.entries(operation.responses ?? {}).some(
    ([status, answer]) => status.startsWith('2') && answer.content?.['text/event-stream'],
  );

function resolve(spec, node) {
  let found = node;
  while (found?.$ref) {
    const steps = found.$ref.slice(2).split('/');
    found = steps.reduce((at, step) => at?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], spec);
  }
  return found;
}

const firstOf = (examples) => Object.values(examples ?? {})[0]?.value;

function exampleOf(spec, parameter) {
  const schema = resolve(spec, parameter.schema) ?? {};
  return parameter.example ?? firstOf(parameter.examples) ?? schema.example ?? schema.examples?.[0] ?? schema.default;
}

/**
 * The request that an operation's examples make: {operation, names: the values of its path, method,
 * base, path, url, headers, body, stream}.
 */
export function exampleRequest(spec, base, path, method, withToken) {
  const operation = spec.paths[path][method];
  const parameters = (operation.parameters ?? []).map((p) => resolve(spec, p));
  const query = [];
  const names = [];
  let filled = path;
  for (const parameter of parameters) {
    const example = exampleOf(spec, parameter);
    const isShown = parameter.required || parameter.example !== undefined || parameter.examples;
    if (parameter.in === 'path') {
      names.push(String(example ?? parameter.name));
      filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(names.at(-1)));
    } else if (parameter.in === 'query' && isShown)
      for (const value of [example ?? parameter.name].flat())
        query.push(`${encodeURIComponent(parameter.name)}=${encodeURIComponent(value)}`);
  }
  const media = resolve(spec, operation.requestBody)?.content?.['application/json'];
  const body = media && (media.example ?? firstOf(media.examples) ?? {});
  const headers = {};
  const isOpen = operation.security?.length === 0;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (withToken && !isOpen) headers.Authorization = null; // the token itself does not belong into a sample
  const target = filled + (query.length ? `?${query.join('&')}` : '');
  return {
    operation: operation.operationId,
    names,
    method: method.toUpperCase(),
    base,
    path: target,
    url: base + target,
    headers,
    body,
    stream: isStream({ responses: mapValues(operation.responses, (answer) => resolve(spec, answer)) }),
  };
}

const mapValues = (object, change) =>
  Object.fromEntries(Object.entries(object ?? {}).map(([key, value]) => [key, change(value)]));

const shellQuoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl({ method, url, headers, body, stream }) {
  const parts = [`curl ${stream ? '-N ' : ''}${method === 'GET' ? '' : `-X ${method} `}${shellQuoted(url)}`];
  for (const [name, value] of Object.entries(headers))
    parts.push(value === null ? `-H "${name}: Bearer $PATTERND_TOKEN"` : `-H ${shellQuoted(`${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`-d ${shellQuoted(JSON.stringify(body))}`);
  return parts.join(' \\\n  ');
}

/** A JSON value as a literal of Python. */
function pythonValue(value) {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${pythonValue(member)}`);
  return `{${members.join(', ')}}`;
}

function headerLines(headers, write) {
  return Object.entries(headers).map(([name, value]) => write(JSON.stringify(name), value));
}

const text = JSON.stringify;
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const without = (object, ...keys) => Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
const topicsOf = ({ names, path }) =>
  names.length ? names : new URLSearchParams(path.split('?')[1]).getAll('name');

// Operations for which the clients have special calls. Each answers the lines after the client
// was made; the first is what else is imported.
const PYTHON = {
  lock_acquire: ({ names: [name], body }) => [
    'LockHeld',
    'try:',
    `    with c.lock(${pythonArguments(name, body)}) as lock:`,
    '        print("held until the block ends, fencing token", lock.fence)',
    'except LockHeld as held:',
    '    raise SystemExit(held.detail)',
  ],
  lock_hold: ({ names: [name], body }) => [
    '',
    `with c.hold(${pythonArguments(name, body ?? {})}) as lock:`,
    '    print("held as long as the program lives, fencing token", lock.fence)',
  ],
  queue_message_receive: ({ names: [name] }) => [
    '',
    'def handle(message):',
    '    print(message.id, message.body)  # acknowledged when this returns',
    '',
    `c.queue(${text(name)}).work(handle)`,
  ],
  ratelimit_take: ({ body }) => [
    '',
    `decision = c.limit(${pythonArguments(body.key, without(body, 'key'))})`,
    'print("allowed" if decision.allowed else "refused")',
  ],
  topic_publish: ({ names: [name], body }) => ['', `print(c.publish(${text(name)}, ${pythonValue(body.body)}))`],
  topic_stream: listening,
  topic_list_stream: listening,
};

function listening(request) {
  return [
    '',
    `with c.listen(${topicsOf(request).map(text).join(', ')}) as events:`,
    '    for event in events:',
    '        print(event.type, event.topic, event.body)',
  ];
}

const pythonArguments = (name, body) =>
  [text(name), ...Object.entries(body).map(([key, value]) => `${key}=${pythonValue(value)}`)].join(', ');

function python(request) {
  const { operation, method, base, path, headers, body } = request;
  const withToken = 'Authorization' in headers;
  const [also, ...lines] = PYTHON[operation]?.(request) ?? [
    '',
    `answer = c.request(${[text(method), text(path), ...(body === undefined ? [] : [pythonValue(body)])].join(', ')})`,
    'print(answer.body)',
  ];
  return [
    ...(withToken ? ['import os', ''] : []),
    `from patternd import Client${also && `, ${also}`}`,
    '',
    `c = Client(${text(base)}${withToken ? ', token=os.environ["PATTERND_TOKEN"]' : ''})`,
    ...lines,
  ].join('\n');
}

const JAVASCRIPT = {
  lock_acquire: ({ names: [name], body }) => [
    `await c.lock(${text(name)}, ${options(body)}, async (lock) => {`,
    '  console.log("held until this ends, fencing token", lock.fence);',
    '});',
  ],
  lock_hold: ({ names: [name], body }) => [
    `const hold = await c.hold(${text(name)}, ${options(body ?? {})});`,
    'console.log("held as long as the program lives, fencing token", hold.fence);',
  ],
  queue_message_receive: ({ names: [name] }) => [
    `await c.queue(${text(name)}).work(async (message) => {`,
    '  console.log(message.id, message.body); // acknowledged when this returns',
    '});',
  ],
  ratelimit_take: ({ body }) => [
    `const { allowed } = await c.limit(${text(body.key)}, ${options(without(body, 'key'))});`,
    'console.log(allowed ? "allowed" : "refused");',
  ],
  topic_publish: ({ names: [name], body }) => [`console.log(await c.publish(${text(name)}, ${text(body.body)}));`],
  topic_stream: following,
  topic_list_stream: following,
};

function following(request) {
  return [
    `for await (const event of await c.listen(${text(topicsOf(request))})) {`,
    '  console.log(event.type, event.topic, event.body);',
    '}',
  ];
}

const options = (body) =>
  `{ ${Object.entries(body)
    .map(([key, value]) => `${camel(key)}: ${text(value)}`)
    .join(', ')} }`;

function javascript(request) {
  const { operation, method, base, path, headers, body } = request;
  const withToken = 'Authorization' in headers ? ', { token: process.env.PATTERND_TOKEN }' : '';
  const said = [text(method), text(path), ...(body === undefined ? [] : [text(body)])].join(', ');
  return [
    "import { Client } from 'patternd';",
    '',
    `const c = new Client(${text(base)}${withToken});`,
    ...(JAVASCRIPT[operation]?.(request) ?? [
      `const answer = await c.request(${said});`,
      'console.log(answer.body);',
    ]),
  ].join('\n');
}

function goText(text) {
  return text.includes('`') ? JSON.stringify(text) : `\`${text}\``;
}

function go({ method, url, headers, body }) {
  const imports = ['fmt', 'io', 'net/http', 'os', ...(body === undefined ? [] : ['strings'])];
  const data = body === undefined ? 'nil' : `strings.NewReader(${goText(JSON.stringify(body))})`;
  const named = headerLines(headers, (name, value) =>
    value === null
      ? `\trequest.Header.Set(${name}, "Bearer "+os.Getenv("PATTERND_TOKEN"))`
      : `\trequest.Header.Set(${name}, ${JSON.stringify(value)})`,
  );
  return [
    'package main',
    '',
    'import (',
    ...imports.map((name) => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    `\trequest, err := http.NewRequest("${method}", ${JSON.stringify(url)}, ${data})`,
    '\tif err != nil {',
    '\t\tpanic(err)',
    '\t}',
    ...named,
    '\tanswer, err := http.DefaultClient.Do(request)',
    '\tif err != nil {',
    '\t\tpanic(err)',
    '\t}',
    '\tdefer answer.Body.Close()',
    '\tfmt.Println(answer.Status)',
    '\tio.Copy(os.Stdout, answer.Body)',
    '}',
  ].join('\n');
}

export const LANGUAGES = { curl, Python: python, JavaScript: javascript, Go: go };
