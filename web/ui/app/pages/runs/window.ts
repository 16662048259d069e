// Lines of a log for a page that shows a few of a million: which of them are seen, and the pages of lines that were fetched.

import type { LogLine, LogRange } from './model';

/** Browsers give no element more height than this. */
export const MAX_HEIGHT = 16_000_000;

export interface Seen { first: number; count: number; top: number }

/** Which lines (from 0) are seen at a place of the scroll bar, and where the first of them is drawn. */
export function seen(total: number, row: number, scrollTop: number, height: number): Seen {
  const spare = 10;
  const whole = total * row, spacer = Math.min(whole, MAX_HEIGHT);
  const room = Math.max(1, spacer - height);
  const at = whole <= MAX_HEIGHT ? scrollTop : (Math.min(scrollTop, room) / room) * Math.max(0, whole - height);
  const exact = Math.floor(at / row);
  const first = Math.max(0, exact - spare);
  const count = Math.min(total - first, Math.ceil(height / row) + 1 + (exact - first) + spare);
  // Relative to where the scroll bar is: rows keep their height however many there are.
  const top = scrollTop - (at - first * row);
  return { first, count: Math.max(0, count), top: whole <= MAX_HEIGHT ? first * row : top };
}

/** Where to scroll so that a line (from 0) stands in the middle. */
export function scrollTo(total: number, row: number, line: number, height: number): number {
  const whole = total * row;
  const at = Math.max(0, Math.min(line * row - (height - row) / 2, whole - height));
  if (whole <= MAX_HEIGHT) return at;
  return (at / Math.max(1, whole - height)) * (MAX_HEIGHT - height);
}

const PAGE = 500;
const MAX_PAGES = 40;

/** Fetched lines by pages of 500; the ones not looked at for longest are forgotten. */
export class LinePages {
  #pages = new Map<number, LogLine[]>();
  #asked = new Set<number>();

  constructor(private fetchLines: (from: number, lines: number) => Promise<LogRange>, private arrived: (total: number) => void, private failed: (error: unknown) => void) {}

  /** A line from 0 on, if it is there. */
  line(at: number): LogLine | undefined {
    return this.#pages.get(Math.floor(at / PAGE))?.[at % PAGE];
  }

  /** Fetches what is missing of these lines. */
  need(first: number, count: number, total: number): void {
    const last = Math.min(total, first + count) - 1;
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) {
      const have = this.#pages.get(page);
      if (have) { this.#pages.delete(page); this.#pages.set(page, have); }
      const wanted = Math.min(PAGE, total - page * PAGE);
      if ((have?.length ?? 0) >= wanted || this.#asked.has(page)) continue;
      this.#asked.add(page);
      void this.#fetch(page);
    }
  }

  async #fetch(page: number): Promise<void> {
    try {
      const lines: LogLine[] = [];
      let total = 0;
      // Very long lines come a few at a time.
      do {
        const range = await this.fetchLines(page * PAGE + lines.length + 1, PAGE - lines.length);
        total = range.total;
        if (range.lines.length === 0) break;
        lines.push(...range.lines);
      } while (lines.length < PAGE && page * PAGE + lines.length < total);
      this.#pages.set(page, lines);
      for (const old of this.#pages.keys()) {
        if (this.#pages.size <= MAX_PAGES) break;
        this.#pages.delete(old);
      }
      this.#asked.delete(page);
      this.arrived(total);
    } catch (error) {
      this.#asked.delete(page);
      this.failed(error);
    }
  }
}
