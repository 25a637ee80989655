// Search of the site, without a server. Every word must occur; titles and the other names of a page
// count more than its text. A name that is part of the query counts most. The word Redis is ignored
// if the query has other words, because all pages are about it.
const box = document.createElement('input');
const list = document.createElement('div');
const base = document.querySelector('script[src$="search.js"]').getAttribute('src').replace(/search\.js$/, '');

/* Chinese has no blanks between words, so the search for a Chinese name ignores blanks. */
function hasName(query, name) {
  if (/\p{Script=Han}/u.test(name)) return query.replace(/\s/g, '').includes(name.replace(/\s/g, ''));
  return ` ${query.replace(/\s+/g, ' ')} `.includes(` ${name} `);
}

function score([, shownTitle, shownText, names], query) {
  const title = shownTitle.toLowerCase();
  const text = shownText.toLowerCase();
  const found = names.filter((name) => hasName(query, name));
  const points = query.split(/\s+/).filter((word, _, all) => word !== 'redis' || all.length === 1).map(
    (word) =>
      (title === word ? 20 : 0) +
      (title.includes(word) || names.some((name) => name.includes(word)) ? 10 : 0) +
      (text.includes(word) ? 1 : 0),
  );
  const ofWords = points.includes(0) ? 0 : points.reduce((sum, one) => sum + one, 0);
  return ofWords + (found.length ? 30 + Math.max(...found.map((name) => name.length)) : 0);
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  return text.slice(at, at + 120);
}

function search() {
  const query = box.value.toLowerCase().trim();
  list.replaceChildren();
  if (!query) return;
  const found = searchData.map((row) => [score(row, query), row]).filter(([points]) => points > 0);
  found.sort((a, b) => b[0] - a[0]);
  for (const [, row] of found.slice(0, 12)) {
    const link = document.createElement('a');
    link.href = base + row[0];
    link.textContent = row[1];
    const shown = document.createElement('small');
    shown.textContent = excerpt(row[2], query.split(/\s/)[0]);
    list.append(link, shown);
  }
  if (!found.length) list.textContent = 'Nothing found.';
}

box.type = 'search';
box.placeholder = 'Search';
box.setAttribute('aria-label', 'Search the documentation');
box.addEventListener('input', search);
list.id = 'search-results';
document.querySelector('.wy-side-nav-search').append(box, list);
