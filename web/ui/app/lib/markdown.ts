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

/** The fragment to put into a page; headings get ids `h-0`, `h-1` … for a table of contents. */
export function rendered(markdown: string): DocumentFragment {
  const html = parser.parse(visible(markdown), { async: false });
  const fragment = purify.sanitize(html, {
    ALLOWED_TAGS: ALLOWED,
    ALLOWED_ATTR: ["href", "alt", "title", "align", "start", "colspan", "rowspan", "open"],
    ALLOW_DATA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  fragment.querySelectorAll("h1, h2, h3, h4").forEach((heading, at) => (heading.id = `h-${at}`));
  return fragment;
}
