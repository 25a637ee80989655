// Names for the controls that Swagger UI 5.29 leaves without one, and focus for what scrolls.
function textNear(element) {
  const row = element.closest('tr[data-param-name]');
  return row?.dataset.paramName ?? element.closest('.examples-select, .content-type-wrapper')?.textContent.trim();
}

function name(root) {
  for (const button of root.querySelectorAll('button:empty, button:has(> svg:only-child)'))
    if (!button.textContent.trim() && !button.ariaLabel) button.ariaLabel = 'Copy';
  for (const copy of root.querySelectorAll('.copy-to-clipboard button:not([aria-label])')) copy.ariaLabel = 'Copy';
  for (const select of root.querySelectorAll('select:not([aria-label])'))
    if (!select.labels.length)
      select.ariaLabel = select.matches('.examples-select-element') ? 'Example' : (textNear(select) ?? 'Choice');
  for (const input of root.querySelectorAll('.operation-filter-input'))
    input.placeholder = input.ariaLabel = 'Search operations, fields and codes';
  for (const pre of root.querySelectorAll('pre:not([tabindex])')) pre.tabIndex = 0;
}

/** Also for all that the page adds later. */
export function nameControls(root) {
  let isPending = false;
  const observer = new MutationObserver(() => {
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(() => {
      isPending = false;
      name(root);
    });
  });
  observer.observe(root, { childList: true, subtree: true });
}
