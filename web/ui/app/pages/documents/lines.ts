// A text as numbered lines, each cut at the matches in it.
import { pieces, type Piece } from "../../lib/text";

export interface Line {
  number: number;
  pieces: Piece[];
}

/** Ranges count Unicode scalar values of the whole text; one may go over several lines. The first line has the number `first`. */
export function lines(text: string, ranges: readonly (readonly number[])[], first = 1): Line[] {
  let start = 0;
  let next = 0;
  return text.split("\n").map((line, at) => {
    const clean = line.endsWith("\r") ? line.slice(0, -1) : line;
    const length = Array.from(line).length;
    const here: [number, number][] = [];
    while (next < ranges.length && (ranges[next]![1] ?? 0) <= start) next++;
    for (let nth = next; nth < ranges.length && (ranges[nth]![0] ?? 0) < start + length; nth++) {
      here.push([Math.max(0, ranges[nth]![0]! - start), Math.min(length, ranges[nth]![1]! - start)]);
    }
    start += length + 1;
    return { number: at + first, pieces: pieces(clean, here) };
  });
}

/** The matches in a line, in characters of the text that is shown. */
export function marked(line: Line): [number, number][] {
  const found: [number, number][] = [];
  let at = 0;
  for (const piece of line.pieces) {
    const end = at + Array.from(piece.text).length;
    if (piece.marked) found.push([at, end]);
    at = end;
  }
  return found;
}
