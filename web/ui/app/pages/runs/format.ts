// Times and amounts as these pages say them.
import { duration, exact as exactly, relative } from "../../lib/time";

/** How long something took, or takes so far. */
export function took(part: { started_at?: number; ended_at?: number }, now: number): string {
  if (part.started_at === undefined) return "–";
  return duration(Math.max(0, (part.ended_at ?? now) - part.started_at));
}

/** When, relative to now: `5 minutes ago`. */
export const ago = (at: number | undefined, now: number): string => (at === undefined ? "–" : relative(at, now));

/** The exact time in the reader's zone. */
export const exact = (at: number | undefined): string => (at === undefined ? "" : exactly(at));

/** The time of a line: `14:03:09.120`. */
export function clock(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

export function bytes(count: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  let at = 0;
  let value = count;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at++;
  }
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}
