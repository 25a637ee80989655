// The list beside the operations of /docs: each tag, and the operations of an open tag. Its links
// are addresses that Swagger UI's deep linking writes as well: #/tag and #/tag/operationId.

const steps = (hash) => hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decodeURIComponent);

const address = (...names) => `#/${names.map(encodeURIComponent).join('/')}`;

/** The key of a tag or of an operation in Swagger UI's state. Its parts make the element's id. */
const keyOf = ([tag, operation]) => (operation ? ['operations', tag, operation] : ['operations-tag', tag]);

export function list(React) {
  const e = React.createElement;
  const link = (names, text, isOpen) =>
    e('a', { href: address(...names), className: isOpen ? 'open' : undefined }, text);
  return function List({ tagged, isShown }) {
    const rowOf = (tag, operation) => {
      const id = operation.getIn(['operation', 'operationId']);
      const text = operation.getIn(['operation', 'summary']);
      return e('li', { key: id }, link([tag, id], text, isShown(keyOf([tag, id]), false)));
    };
    const tags = tagged.entrySeq().map(([tag, found]) => {
      const isOpen = isShown(keyOf([tag]), false);
      const rows = isOpen ? e('ul', null, found.get('operations').map((one) => rowOf(tag, one)).toArray()) : null;
      return e('li', { key: tag }, link([tag], tag, isOpen), rows);
    });
    return e('nav', { className: 'list', 'aria-label': 'Operations by tag' }, e('ul', null, tags.toArray()));
  };
}

/**
 * Opens the tag and the operation that an address names, and scrolls there. Swagger UI's own
 * function adds entries to the history for it, so that "back" returns to the same address.
 */
function openAddress(layoutActions, hash) {
  const [tag, operation] = steps(hash);
  if (!tag) return;
  history.pushState = () => {}; // hides the method of its prototype
  layoutActions.show(keyOf([tag]), true);
  if (operation) layoutActions.show(keyOf([tag, operation]), true);
  delete history.pushState;
  const key = keyOf([tag, operation]);
  const element = document.getElementById(key.join('-').replace(/\s/g, '_'));
  if (element) element.scrollIntoView();
  else layoutActions.scrollTo(key); // as soon as the element is there
}

export const addresses = {
  wrapActions: {
    parseDeepLinkHash:
      (_, { layoutActions }) =>
      () =>
        openAddress(layoutActions, location.hash),
  },
  // A search opens each tag that has a match.
  wrapSelectors: {
    isShown:
      (isShown) =>
      (state, key, ...rest) =>
        (key[0] === 'operations-tag' && typeof state.get('filter') === 'string') || isShown(key, ...rest),
  },
};
