// What /docs adds to Swagger UI: samples before the parameters of each operation and its problems
// after them, a filter that finds more than tags, and problems too, and the rules of the contract
// folded behind its first paragraph. list.js has the list at the side and the addresses.
import { addresses, list } from './list.js';
import { LANGUAGES, exampleRequest } from './samples.js';
import { commonCodes, kindsFound, searchOf } from './search.js';

const languages = Object.keys(LANGUAGES);
let chosen = languages[0]; // one choice for all operations
const watchers = new Set();

function choose(language) {
  chosen = language;
  for (const watch of watchers) watch();
}

function watchChoice(watch) {
  watchers.add(watch);
  return () => watchers.delete(watch);
}

function samples(React, { spec, base, withToken }) {
  const e = React.createElement;
  return function Samples({ path, method }) {
    const language = React.useSyncExternalStore(watchChoice, () => chosen);
    const text = LANGUAGES[language](exampleRequest(spec, base, path, method, withToken));
    const buttons = languages.map((name) =>
      e('button', { key: name, type: 'button', 'aria-pressed': name === language, onClick: () => choose(name) }, name),
    );
    const copy = e('button', { type: 'button', onClick: () => navigator.clipboard?.writeText(text) }, 'Copy');
    return e(
      'div',
      { className: 'samples' },
      e('div', { className: 'languages', role: 'group', 'aria-label': 'Language of the sample' }, ...buttons, copy),
      e('pre', { tabIndex: 0, 'aria-label': `Sample in ${language}` }, text),
    );
  };
}

/** A problem: its code as a link to its page, and what it means if that is known. */
function problemRow(e, problemsAt, code, { status, title, help } = {}) {
  return e(
    'li',
    { key: code },
    e('a', { href: problemsAt + code }, e('code', null, code)),
    help ? ` ${status}, ${title}. ` : '',
    ...(help ?? '').split('`').map((part, at) => (at % 2 ? e('code', { key: at }, part) : part)),
  );
}

/** The problems of an operation. */
function problems(React, { spec, explain, problemsAt }) {
  const e = React.createElement;
  const common = commonCodes(spec);
  return function Problems({ path, method }) {
    const [known, setKnown] = React.useState(null);
    const own = spec.paths[path][method]['x-problems'] ?? [];
    const list = (summary, codes) =>
      codes.length === 0
        ? null
        : e(
            'details',
            { onToggle: () => explain().then(setKnown, () => {}) },
            e('summary', null, summary),
            e('ul', null, ...codes.map((code) => problemRow(e, problemsAt, code, known?.get(code)))),
          );
    return e(
      'div',
      { className: 'problems' },
      list(`Problems: ${own.join(', ')}`, own),
      list('Problems of every operation', common),
    );
  };
}

/** The problems whose code or status a phrase names, or the answer that nothing matches it. */
function found(React, { explain, problemsAt }) {
  const e = React.createElement;
  return function Found({ phrase, hasOperations }) {
    const [{ kinds, trouble }, setKnown] = React.useState({});
    const isAsked = phrase !== '';
    React.useEffect(() => {
      if (isAsked && !kinds)
        explain().then(
          (latest) => setKnown({ kinds: latest }),
          (error) => setKnown({ trouble: error.message }),
        );
    }, [phrase]);
    if (!isAsked) return null;
    if (!kinds && !trouble) return null;
    const rows = kindsFound(kinds, phrase).map((kind) => problemRow(e, problemsAt, kind.code, kind));
    const what = trouble ? 'No operation matches' : 'Nothing matches';
    const none = rows.length === 0 && !hasOperations ? `${what} '${phrase}'.` : '';
    return e(
      'section',
      { className: 'found wrapper', 'aria-label': 'Problems that match' },
      rows.length ? e('ul', null, ...rows) : null,
      e('p', { role: 'status' }, [none, trouble].filter(Boolean).join(' ')),
    );
  };
}

/** The description's first paragraph, and what follows it. */
export function splitDescription(text) {
  const [first, ...rest] = text.split(/\n{2,}/);
  return { first, rest: rest.join('\n\n') };
}

/**
 * `context`: {spec, base, withToken, rules, explain(): a promise of what the daemon has for each
 * code, problemsAt: the address of a problem without its code}.
 */
export function docsPlugin(context) {
  return ({ React, getComponent }) => {
    const e = React.createElement;
    const Samples = samples(React, context);
    const Problems = problems(React, context);
    const Found = found(React, context);
    const List = list(React);
    const matches = searchOf(context.spec);
    const topics = [...context.rules.matchAll(/^\*\*(.+?)\.?\*\*/gm)].map((found) => found[1].toLowerCase());
    return {
      fn: {
        opsFilter: (tagged, phrase) =>
          tagged
            .map((tag) =>
              tag.update('operations', (operations) =>
                operations.filter((one) => matches(one.get('path'), one.get('method'), phrase)),
              ),
            )
            .filter((tag) => tag.get('operations').size > 0),
      },
      statePlugins: { layout: addresses },
      wrapComponents: {
        // Swagger UI would put a link into the button that opens an operation.
        DeepLink: (DeepLink) => (props) => e(DeepLink, { ...props, enabled: false }),
        parameters: (Parameters) => (props) => {
          const [path, method] = props.pathMethod;
          return e('div', null, e(Samples, { path, method }), e(Parameters, props), e(Problems, { path, method }));
        },
        operations: (Operations) => (props) => {
          const filter = props.layoutSelectors.currentFilter(); // true before the first search
          const tagged = props.specSelectors.taggedOperations();
          const hasOperations = tagged.size > 0;
          return e(
            'div',
            null,
            e(Found, { phrase: typeof filter === 'string' ? filter.trim() : '', hasOperations }),
            hasOperations
              ? e(
                  'div',
                  { className: 'listed' },
                  e(List, { tagged, isShown: props.layoutSelectors.isShown }),
                  e(Operations, props),
                )
              : null,
          );
        },
        InfoContainer: (Info) => (props) =>
          e(
            'div',
            null,
            e(Info, props),
            e(
              'details',
              { className: 'rules wrapper' },
              e('summary', null, `Rules for all operations: ${topics.join(', ')}`),
              e(getComponent('Markdown', true), { source: context.rules }),
            ),
          ),
      },
    };
  };
}
