// Turns answers into DOM nodes. Text is only ever set as text, never as HTML: what a document
// contains cannot become part of the page.

export function el(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// `ranges` are [start, end) in characters (Unicode scalar values), as the server counts them.
export function marked(text, ranges) {
  const characters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const [start, end] of ranges || []) {
    if (start < at || end <= start || end > characters.length) continue;
    if (start > at) parts.push(characters.slice(at, start).join(""));
    parts.push(el("mark", {}, characters.slice(start, end).join("")));
    at = end;
  }
  parts.push(characters.slice(at).join(""));
  return parts;
}

const place = (hit) => (hit.path || hit.url || hit.id) + (hit.line ? `:${hit.line}` : "");

export function hitItem(hit, open) {
  const link = el("a", { href: `#${encodeURIComponent(hit.id)}` }, hit.title);
  link.addEventListener("click", (event) => { event.preventDefault(); open(hit); });
  const tags = (hit.tags || []).map((tag) => el("span", { className: "tag" }, tag));
  return el("li", { className: "hit" },
    el("h3", {}, link, ...tags),
    el("p", { className: "where" }, el("span", { className: "source" }, hit.source), " · ", place(hit)),
    el("p", { className: "snippet" }, ...marked(hit.snippet || "", hit.highlights)));
}

export function sourceChips(names, chosen, toggle) {
  return names.map((name) => {
    const chip = el("button", { type: "button" }, name);
    chip.setAttribute("aria-pressed", String(chosen.has(name)));
    chip.addEventListener("click", () => toggle(name));
    return chip;
  });
}

const count = new Intl.NumberFormat();

export function statusText(answer, shown) {
  if (answer.total === 0) return answer.indexing ? "Nothing found yet: sources are being indexed." : "Nothing found.";
  const found = answer.total === 1 ? "1 document" : `${count.format(answer.total)} documents`;
  return `${found}, ${shown} shown · ${answer.took_ms} ms · ${answer.relevance_function}`;
}

export const sourceNotices = (answer) =>
  (answer.sources || []).filter((source) => source.error)
    .map((source) => el("li", {}, `${source.name}: ${source.error}`))
    .concat((answer.sources || []).filter((source) => source.indexing)
      .map((source) => el("li", { className: "indexing" }, `${source.name} is being indexed${howFar(source.indexing)}`)))
    .concat((answer.notes || []).map((note) => el("li", {}, note)));

// What the start page tells: which sources there are and how far their indexing is.
export function welcome(sources) {
  const rows = sources.map((source) => el("tr", {},
    el("td", {}, source.role), el("td", {}, source.name), el("td", {}, source.service),
    el("td", {}, progressOf(source)), el("td", {}, count.format(source.documents || 0))));
  const head = el("tr", {}, ...["Role", "Source", "Kind", "State", "Documents"]
    .map((text) => el("th", { scope: "col" }, text)));
  return [
    el("p", {}, "Type to search. Press ", el("kbd", {}, "?"), " for the keyboard."),
    el("table", {}, el("caption", { className: "visually-hidden" }, "Sources"),
      el("thead", {}, head), el("tbody", {}, ...rows)),
  ];
}

const howFar = (progress) =>
  progress.total > 0 ? `: ${count.format(progress.done)} of ${count.format(progress.total)} files` : "";

function progressOf(source) {
  if (source.error) return `${source.state}: ${source.error}`;
  if (source.progress && source.progress.total > 0 && source.state === "indexing") {
    return `${source.state} ${count.format(source.progress.done)} of ${count.format(source.progress.total)}`;
  }
  return source.state;
}
