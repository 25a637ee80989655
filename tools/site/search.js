// Search of the site, without a server: every word must occur; titles count more than text.
const box = document.createElement('input');
const list = document.createElement('div');
const base = document.querySelector('script[src$="search.js"]').getAttribute('src').replace(/search\.js$/, '');

function score(row, words) {
  const title = row[1].toLowerCase();
  const text = row[2].toLowerCase();
  let sum = 0;
  for (const word of words) {
    const found = (title === word ? 20 : 0) + (title.includes(word) ? 10 : 0) + (text.includes(word) ? 1 : 0);
    if (!found) return 0;
    sum += found;
  }
  return sum;
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  return text.slice(at, at + 120);
}

function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  list.replaceChildren();
  if (!words.length) return;
  const found = searchData.map((row) => [score(row, words), row]).filter(([points]) => points > 0);
  found.sort((a, b) => b[0] - a[0]);
  for (const [, row] of found.slice(0, 12)) {
    const link = document.createElement('a');
    link.href = base + row[0];
    link.textContent = row[1];
    const shown = document.createElement('small');
    shown.textContent = excerpt(row[2], words[0]);
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
