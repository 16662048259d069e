// Text of others: nothing in it may change how the page is read.

// Controls but tab and line ends, bidirectional controls, invisible characters that hide others.
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** The same text with control and bidirectional characters as escapes: `\u{202e}`. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

export interface Piece {
  text: string;
  marked: boolean;
}

/** Text cut at ranges `[start, end)` counted in Unicode scalar values, as the servers count. */
export function pieces(text: string, ranges: readonly (readonly number[])[]): Piece[] {
  const characters = Array.from(text);
  const found: Piece[] = [];
  let at = 0;
  const add = (end: number, marked: boolean) => {
    if (end > at) found.push({ text: visible(characters.slice(at, end).join("")), marked });
    at = Math.max(at, end);
  };
  for (const [start = 0, end = 0] of ranges) {
    add(Math.min(start, characters.length), false);
    add(Math.min(end, characters.length), true);
  }
  add(characters.length, false);
  return found;
}

/** A count as people write it: 1,234. */
export function count(value: number): string {
  return value.toLocaleString("en");
}

/** One thing, or several: `3 documents`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
