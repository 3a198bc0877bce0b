// The search, in place of MkDocs' own. What it needs is loaded when a reader first comes to its field.

let index = null;
let sections = null;

/** Loads a script of this folder, after those before it. */
function load(name) {
  document.head.append(Object.assign(document.createElement("script"), { src: `${base_url}/search/${name}`, async: false }));
}

/** What `search_index.js` calls. */
function searchable({ docs }) {
  sections = new Map(docs.map((section) => [section.location, section]));
  index = lunr(function () {
    this.ref("location");
    this.field("title");
    this.field("text");
    for (const section of docs) this.add(section);
  });
  show();
}

/** The sections that have words of a text, or words that begin so, the best first. Single letters would find nearly all. */
function find(text) {
  const words = text.toLowerCase().match(/\w{2,}/g);
  if (!words) return [];
  const found = index.query((query) => {
    query.term(words, { boost: 10 });
    query.term(words, { usePipeline: false, wildcard: lunr.Query.wildcard.TRAILING });
  });
  return found.map(({ ref }) => sections.get(ref));
}

/** Shows what the field's text finds. */
function show() {
  if (!index) return;
  const text = document.getElementById("mkdocs-search-query").value;
  const results = document.getElementById("mkdocs-search-results");
  const found = find(text).map(article);
  results.replaceChildren(...(text && !found.length ? [results.dataset.noResultsText] : found));
}

/** A section as a result. */
function article({ location, title, text }) {
  const link = Object.assign(document.createElement("a"), { href: `${base_url}/${location}`, textContent: title });
  const heading = document.createElement("h3");
  heading.append(link);
  const begin = Object.assign(document.createElement("p"), { textContent: text.slice(0, 200) });
  const article = document.createElement("article");
  article.append(heading, begin);
  return article;
}

document.addEventListener("DOMContentLoaded", () => {
  const field = document.getElementById("mkdocs-search-query");
  const begin = () => ["lunr.js", "search_index.js"].forEach(load);
  field.addEventListener("focus", begin, { once: true });
  field.addEventListener("input", show);
  // Enter would load the page anew.
  field.form.addEventListener("submit", (event) => event.preventDefault());
});
