#!/usr/bin/env node
// The search of the built site finds each name of tests/other_names.json: its first result is a
// page that has the name there. Its own search.js runs on its own search_data.js.
// tests/test_site_search.mjs FOLDER
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';

const site = process.argv[2];
const pagesOfNames = new Map();
const wanted = JSON.parse(readFileSync(new URL('other_names.json', import.meta.url), 'utf8'));
for (const [page, names] of Object.entries(wanted)) {
  for (const name of names) pagesOfNames.set(name, [...(pagesOfNames.get(name) ?? []), page.replace(/\.md$/, '.html')]);
}

/** The parts of a DOM element that the script uses. */
function element() {
  return {
    children: [],
    append(...more) {
      this.children.push(...more);
    },
    replaceChildren() {
      this.children = [];
    },
    setAttribute() {},
    getAttribute: () => 'search.js',
    addEventListener(_, listener) {
      this.input = listener;
    },
  };
}

const side = element();
const document = {
  createElement: element,
  querySelector: (selector) => (selector.startsWith('script') ? element() : side),
};
const context = vm.createContext({ document });
for (const file of ['search_data.js', 'search.js']) vm.runInContext(readFileSync(join(site, file), 'utf8'), context);
const [box, list] = side.children;

/** Returns the first page that the search finds. */
function first(query) {
  box.value = query;
  box.input();
  return list.children[0]?.href?.split('#')[0] ?? 'nothing';
}

let failed = 0;
for (const [name, pages] of pagesOfNames) {
  const sentence = /\p{Script=Han}/u.test(name) ? `Redis实现${name}的方案` : `${name}  Redis`;
  for (const query of [name, name.toUpperCase(), `redis ${name}`, sentence]) {
    const found = first(query);
    if (pages.includes(found)) continue;
    console.log(`the search for '${query}' returns ${found}, not ${pages}: add the name to docs/glossary.md`);
    failed++;
  }
}
if (first('zzzz') !== 'nothing') failed++;
console.log(`${pagesOfNames.size} names, ${failed} queries that fail`);
process.exit(failed ? 1 : 0);
