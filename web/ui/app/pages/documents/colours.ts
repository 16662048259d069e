// Colours of code, a line at a time; loaded when a document is opened.
import highlight from "highlight.js/lib/common";

const NAMES: Record<string, string> = { rs: "rust", py: "python", js: "javascript", ts: "typescript", yml: "yaml", sh: "bash", h: "c", hpp: "cpp", cc: "cpp", rb: "ruby", kt: "kotlin", toml: "ini", cs: "csharp" };

/** What colours lines of the file; nothing where its language is not known. */
export function colourer(path: string): ((line: string) => Node) | null {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  const language = NAMES[ending] ?? ending;
  if (!highlight.getLanguage(language)) return null;
  return (line) => {
    // The library escapes what it is given; only its own spans with classes come back.
    const template = document.createElement("template");
    template.innerHTML = highlight.highlight(line, { language, ignoreIllegals: true }).value;
    return template.content;
  };
}
