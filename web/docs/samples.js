// How to send an operation's example without this page: in curl, Python, JavaScript and Go, each
// with no more than what the language brings along.

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

/** The request that an operation's examples make: {method, url, headers, body, stream}. */
export function exampleRequest(spec, base, path, method, withToken) {
  const item = spec.paths[path];
  const operation = item[method];
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((p) => resolve(spec, p));
  const query = [];
  let filled = path;
  for (const parameter of parameters) {
    const example = exampleOf(spec, parameter);
    const isShown = parameter.required || parameter.example !== undefined || parameter.examples;
    if (parameter.in === 'path')
      filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(example ?? parameter.name));
    else if (parameter.in === 'query' && isShown)
      for (const value of [example ?? parameter.name].flat())
        query.push(`${encodeURIComponent(parameter.name)}=${encodeURIComponent(value)}`);
  }
  const media = resolve(spec, operation.requestBody)?.content?.['application/json'];
  const body = media && (media.example ?? firstOf(media.examples) ?? {});
  const headers = {};
  const isOpen = operation.security?.length === 0;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (withToken && !isOpen) headers.Authorization = null; // the token itself does not belong into a sample
  return {
    method: method.toUpperCase(),
    url: base + filled + (query.length ? `?${query.join('&')}` : ''),
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

function python({ method, url, headers, body, stream }) {
  const named = headerLines(headers, (name, value) =>
    value === null ? `${name}: "Bearer " + os.environ["PATTERND_TOKEN"]` : `${name}: ${JSON.stringify(value)}`,
  );
  const lines = ['import json', ...('Authorization' in headers ? ['import os'] : []), 'import urllib.request', ''];
  if (body === undefined) lines.shift();
  lines.push('request = urllib.request.Request(', `    ${JSON.stringify(url)},`, `    method="${method}",`);
  if (named.length) lines.push(`    headers={${named.join(', ')}},`);
  if (body !== undefined) lines.push(`    data=json.dumps(${pythonValue(body)}).encode(),`);
  lines.push(')', 'with urllib.request.urlopen(request) as answer:');
  if (stream) lines.push('    for line in answer:', '        print(line.decode(), end="", flush=True)');
  else lines.push('    print(answer.status, answer.read().decode())');
  return lines.join('\n');
}

function javascript({ method, url, headers, body, stream }) {
  const named = headerLines(headers, (name, value) =>
    value === null ? `${name}: "Bearer " + process.env.PATTERND_TOKEN` : `${name}: ${JSON.stringify(value)}`,
  );
  const lines = [`const answer = await fetch(${JSON.stringify(url)}, {`, `  method: "${method}",`];
  if (named.length) lines.push(`  headers: { ${named.join(', ')} },`);
  if (body !== undefined) lines.push(`  body: JSON.stringify(${JSON.stringify(body)}),`);
  lines.push('});');
  if (stream)
    lines.push(
      'for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {',
      '  console.log(text);',
      '}',
    );
  else lines.push('console.log(answer.status, await answer.text());');
  return lines.join('\n');
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
