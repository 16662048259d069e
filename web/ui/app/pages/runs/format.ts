// Times and amounts as people say them.

/** A duration as people say it: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number | undefined): string {
  if (ms === undefined || Number.isNaN(ms)) return '–';
  if (ms < 1000) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} days`;
}

/** How long something took, or takes so far. */
export function took(part: { started_at?: number; ended_at?: number }, now: number): string {
  if (part.started_at === undefined) return '–';
  return duration((part.ended_at ?? now) - part.started_at);
}

/** When, relative to now: `5 min ago`. */
export function ago(at: number | undefined, now: number): string {
  if (at === undefined) return '–';
  const past = now - at;
  if (past < 45_000 && past > -45_000) return 'just now';
  const words = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
  const units: [Intl.RelativeTimeFormatUnit, number][] = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000]];
  const [unit, size] = units.find(([, size]) => Math.abs(past) >= size) ?? ['minute', 60_000];
  return words.format(-Math.round(past / size), unit);
}

/** The exact time in the reader's zone. */
export function exact(at: number | undefined): string {
  return at === undefined ? '' : new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** The time of a line: `14:03:09.120`. */
export function clock(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

export function bytes(count: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB'];
  let at = 0, value = count;
  while (value >= 1000 && at < units.length - 1) { value /= 1000; at++; }
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}
