// Markdown of others as safe HTML: nothing runs, nothing is loaded from elsewhere.
import DOMPurify from "dompurify";
import { Marked } from "marked";
import { visible } from "./text";

const purify = DOMPurify(window);

// A handler in raw HTML would never run, but the pages' policy reports it while it is read.
const parser = new Marked({
  gfm: true,
  renderer: { html: ({ text }) => text.replace(/\bon(\w+)(\s*=)/gi, "data-on$1$2") },
});

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    const href = node.getAttribute("href") ?? "";
    if (/^https?:/i.test(href)) {
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noreferrer noopener");
    } else if (!href.startsWith("#")) {
      node.removeAttribute("href");
    }
  }
  if (node.tagName === "IMG") {
    // Pictures would tell their server that somebody reads this.
    const words = document.createElement("span");
    words.textContent = `[picture: ${node.getAttribute("alt") || "without words"}]`;
    node.replaceWith(words);
  }
});

const ALLOWED = (
  "a abbr b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li mark ol p pre q s samp span strong " +
  "sub summary sup table tbody td tfoot th thead tr u ul"
).split(" ");

/** What stands before a document for programs (`---`, YAML, `---`), and the document without it. */
export function frontMatter(markdown: string): [string, string] {
  const found = /^\uFEFF?---[ \t]*\r?\n([\s\S]{1,20000}?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/.exec(markdown);
  // A rule and a heading may look alike: the first line says whether it is one.
  return found && /^\s*(?:#|["']?[\w .-]+["']?\s*:(?:\s|$))/.test(found[1]!) ? [found[1]!, markdown.slice(found[0].length)] : ["", markdown];
}

function folded(text: string): HTMLElement {
  const box = document.createElement("details");
  const [name, words] = [document.createElement("summary"), document.createElement("pre")];
  name.textContent = "Front matter";
  words.textContent = visible(text);
  box.append(name, words);
  return box;
}

/** The fragment to put into a page; headings get ids `h-0`, `h-1` … for a table of contents. */
export function rendered(markdown: string): DocumentFragment {
  const [before, text] = frontMatter(markdown);
  const html = parser.parse(visible(text), { async: false });
  const fragment = purify.sanitize(html, {
    ALLOWED_TAGS: ALLOWED,
    ALLOWED_ATTR: ["href", "alt", "title", "align", "start", "colspan", "rowspan", "open"],
    ALLOW_DATA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  fragment.querySelectorAll("h1, h2, h3, h4").forEach((heading, at) => (heading.id = `h-${at}`));
  if (before) fragment.prepend(folded(before));
  return fragment;
}
