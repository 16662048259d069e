// A line of a log in parts of one look each. Terminals' colours become classes; every other sequence becomes nothing; what
// steers what shows it, takes no room or turns the text around it stands there as an escape: `\\u{202e}`.

export interface Part { text: string; look: string; hidden?: boolean }

interface Style { bold: boolean; dim: boolean; italic: boolean; underlined: boolean; colour: number }
const plainStyle = (): Style => ({ bold: false, dim: false, italic: false, underlined: false, colour: -1 });

function look(style: Style): string {
  const names: string[] = [];
  if (style.bold) names.push('ansi-bold');
  if (style.dim) names.push('ansi-dim');
  if (style.italic) names.push('ansi-italic');
  if (style.underlined) names.push('ansi-underlined');
  if (style.colour >= 0) names.push(`ansi-${style.colour}`);
  return names.join(' ');
}

/** The nearest of the sixteen colours: 0 to 15. */
function nearest(red = 0, green = 0, blue = 0): number {
  const most = Math.max(red, green, blue);
  const bit = (value: number): number => (value > most / 2 && value > 60 ? 1 : 0);
  const colour = bit(red) + 2 * bit(green) + 4 * bit(blue);
  return colour + (most > 200 && colour > 0 ? 8 : 0);
}
function of256(code = 0): number {
  if (code < 16) return code;
  if (code >= 232) return code < 244 ? 8 : 7;
  const cube = code - 16, level = (value: number): number => (value ? 55 + 40 * value : 0);
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

function apply(style: Style, parameters: string): void {
  const codes = parameters.split(/[;:]/).map((code) => Number(code) || 0);
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 0) Object.assign(style, plainStyle());
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underlined = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underlined = false;
    else if (code >= 30 && code <= 37) style.colour = code - 30;
    else if (code >= 90 && code <= 97) style.colour = code - 82;
    else if (code === 39) style.colour = -1;
    else if (code === 38 || code === 48) {
      // A background says nothing here, but its numbers are no other codes.
      const colour = codes[at + 1] === 5 ? of256(codes[at + 2]) : nearest(codes[at + 2], codes[at + 3], codes[at + 4]);
      if (code === 38) style.colour = colour;
      at += codes[at + 1] === 5 ? 2 : 4;
    }
  }
}

// Controls, directions, what takes no room: the same that the servers show by their numbers.
const HIDDEN = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

function shown(text: string, as: string, parts: Part[]): void {
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) parts.push({ text: text.slice(from, found.index), look: as });
    parts.push({ text: `\\u{${found[0].codePointAt(0)!.toString(16)}}`, look: as, hidden: true });
    from = found.index + found[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), look: as });
}

/** A line in parts; their texts one after the other are what is seen. */
export function parts(line: string): Part[] {
  const found: Part[] = [];
  const style = plainStyle();
  line.split('\u001b').forEach((piece, index) => {
    let text = piece;
    if (index > 0) {
      const sequence = /^\[([0-?]*[ -/]*)([@-~])/.exec(piece);
      if (sequence) {
        if (sequence[2] === 'm') apply(style, sequence[1] ?? '');
        text = piece.slice(sequence[0].length);
      } else if (piece.startsWith(']')) {
        // A title or a link: up to its end.
        const end = piece.indexOf('\u0007');
        text = end < 0 ? '' : piece.slice(end + 1);
      }
    }
    shown(text, look(style), found);
  });
  return found;
}
