// Colours of code, a line at a time; loaded when code is shown.
import highlight from "highlight.js/lib/common";
import { visible } from "../../lib/text";

const NAMES: Record<string, string> = { rs: "rust", py: "python", js: "javascript", mjs: "javascript", ts: "typescript", yml: "yaml", sh: "bash", h: "c", hpp: "cpp", cc: "cpp", rb: "ruby", kt: "kotlin", toml: "ini", cs: "csharp" };

export type Colourer = (line: string, marked: readonly (readonly number[])[]) => Node;

/** What colours lines of the file and marks the matches in them; nothing where its language is not known. */
export function colourer(path: string): Colourer | null {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  const language = NAMES[ending] ?? ending;
  if (!highlight.getLanguage(language)) return null;
  return (line, marked) => {
    // The library escapes what it is given; only its own spans with classes come back.
    const template = document.createElement("template");
    template.innerHTML = highlight.highlight(line, { language, ignoreIllegals: true }).value;
    mark(template.content, marked);
    return template.content;
  };
}

/** Marks ranges `[start, end)`, counted in Unicode scalar values over all text, and shows what is not seen. */
export function mark(content: DocumentFragment, ranges: readonly (readonly number[])[]): void {
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  let start = 0;
  for (const node of texts) {
    const characters = Array.from(node.data);
    const parts: Node[] = [];
    let at = 0;
    const add = (end: number, marked: boolean) => {
      if (end <= at) return;
      const text = document.createTextNode(visible(characters.slice(at, end).join("")));
      const part = marked ? document.createElement("mark") : text;
      if (marked) part.appendChild(text);
      parts.push(part);
      at = end;
    };
    for (const [from = 0, to = 0] of ranges) {
      if (to <= start || from >= start + characters.length) continue;
      add(Math.max(0, from - start), false);
      add(Math.min(characters.length, to - start), true);
    }
    add(characters.length, false);
    start += characters.length;
    node.replaceWith(...parts);
  }
}
