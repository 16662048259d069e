// What the server has marked in the text of a Markdown file, to be found again where it is shown
// without its markup.

/** A marked text, and which of those with the same letters it is. */
export interface Mark {
  text: string;
  nth: number;
}

/** The texts that are marked, each once. Ranges count Unicode scalar values of `text`. */
export function markedTexts(text: string, ranges: readonly (readonly number[])[]): string[] {
  const characters = Array.from(text);
  const found = new Set<string>();
  for (const [start = 0, end = 0] of ranges) {
    const shown = characters.slice(start, end).join("").trim();
    if (shown) found.add(shown.toLowerCase());
  }
  // The longest first: of two that begin alike it is the one meant.
  return [...found].sort((a, b) => b.length - a.length);
}

/** The first mark in a line, from 1, or behind it. */
export function markAt(text: string, ranges: readonly (readonly number[])[], line: number): Mark | null {
  const characters = Array.from(text);
  let start = 0;
  for (let number = 1; number < line && start < characters.length; start++) {
    if (characters[start] === "\n") number++;
  }
  const shown = ranges.map(([from = 0, to = 0]) => characters.slice(from, to).join("").trim().toLowerCase());
  const at = ranges.findIndex(([from = 0]) => from >= start);
  if (at < 0) return null;
  const wanted = shown[at]!;
  return { text: wanted, nth: shown.slice(0, at).filter((one) => one === wanted).length };
}

/** What finds these texts as they stand, whatever white space is between their words. */
export function finder(texts: readonly string[]): RegExp | null {
  if (!texts.length) return null;
  // Scripts that write words apart: there a word is marked where it is one.
  const letter = "[\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{N}_]";
  const isLetter = new RegExp(letter, "u");
  const wanted = texts.map((text) => {
    const begin = isLetter.test(Array.from(text)[0] ?? "") ? `(?<!${letter})` : "";
    const end = isLetter.test(Array.from(text).at(-1) ?? "") ? `(?!${letter})` : "";
    return begin + text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+") + end;
  });
  return new RegExp(`(${wanted.join("|")})`, "giu");
}
