// What the filter of /docs finds: operations by their path, name and words, by the fields that they
// take and return, and by the codes of their problems; and the problems themselves, by their codes
// and statuses. All words have to be found.

const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

/** Names of fields and parameters below a node of the contract, references followed. */
function fieldsOf(spec, node, found = new Set(), visited = new Set()) {
  if (node === null || typeof node !== 'object' || visited.has(node)) return found;
  visited.add(node);
  if (Array.isArray(node)) {
    for (const one of node) fieldsOf(spec, one, found, visited);
    return found;
  }
  if (typeof node.$ref === 'string') {
    const steps = node.$ref.slice(2).split('/');
    const target = steps.reduce((at, step) => at?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], spec);
    return fieldsOf(spec, target, found, visited);
  }
  if (typeof node.name === 'string' && node.in) found.add(node.name);
  for (const [key, value] of Object.entries(node)) {
    if (key === 'example' || key === 'examples') continue;
    if (key === 'properties') for (const field of Object.keys(value)) found.add(field);
    fieldsOf(spec, value, found, visited);
  }
  return found;
}

/** Codes that any operation may return, from the common response. */
export const commonCodes = (spec) => {
  const { 'x-codes': codes = [], 'x-rare-codes': rare = [] } = spec.components.responses.Problem;
  return [...new Set([...codes, ...rare])];
};

const hasAll = (text, phrase) =>
  phrase
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));

/** The problems, by code, whose code or status has all words of a phrase; the code itself first. */
export function kindsFound(kinds, phrase) {
  const exact = phrase.toLowerCase();
  return [...(kinds?.values() ?? [])]
    .filter(({ code, status }) => hasAll(`${code} ${status}`, phrase))
    .sort((a, b) => (b.code === exact) - (a.code === exact));
}

/** Answers whether an operation (path, method) has all words of a phrase. */
export function searchOf(spec) {
  const texts = new Map();
  for (const [path, item] of Object.entries(spec.paths))
    for (const method of METHODS.filter((one) => item[one])) {
      const operation = item[method];
      const { operationId, summary, description, tags, parameters, requestBody, responses } = operation;
      const own = Object.fromEntries(Object.entries(responses).filter(([status]) => status.startsWith('2')));
      const fields = fieldsOf(spec, [parameters, requestBody, own]);
      const codes = operation['x-problems'] ?? [];
      texts.set(
        `${method} ${path}`,
        [method, path, operationId, summary, description, ...tags, ...fields, ...codes].join(' ').toLowerCase(),
      );
    }
  return (path, method, phrase) => hasAll(texts.get(`${method} ${path}`) ?? '', phrase);
}
