// Draws a big graph while it moves: pixel by pixel, which is many times faster than paths are without a graphics card.
import type { Graph } from "./graph";
import { radius } from "./radius";

export interface Pixels { width: number; height: number; data: Uint32Array }
/** A colour of four bytes as they lie in memory. */
export type Colour = number;

/** Where a place of the graph is on the picture: `scale * x + left`. */
export interface Place { left: number; top: number; scale: number }

export interface Colours { line: Colour[]; near: Colour; node: Colour; bright: Colour }

/** The part `[from, to]` of a line, as shares of it, that lies on the picture. */
export function clip(x: number, y: number, dx: number, dy: number, width: number, height: number): [number, number] | null {
  if ((dx === 0 && (x < 0 || x >= width)) || (dy === 0 && (y < 0 || y >= height))) return null;
  let from = 0;
  let to = 1;
  if (dx !== 0) {
    from = Math.max(from, Math.min(-x / dx, (width - x) / dx));
    to = Math.min(to, Math.max(-x / dx, (width - x) / dx));
  }
  if (dy !== 0) {
    from = Math.max(from, Math.min(-y / dy, (height - y) / dy));
    to = Math.min(to, Math.max(-y / dy, (height - y) / dy));
  }
  return from < to ? [from, to] : null;
}

/** Every so many pixels of a line are drawn; gives its length. The inner loops write millions of pixels a second: plain counting, no lists. */
export function line(pixels: Pixels, ax: number, ay: number, bx: number, by: number, colour: Colour, stride = 1): number {
  const { width, height, data } = pixels;
  const seen = clip(ax, ay, bx - ax, by - ay, width, height);
  if (!seen) return 0;
  const from = seen[0];
  const to = seen[1];
  let x = ax + (bx - ax) * from;
  let y = ay + (by - ay) * from;
  const wide = (bx - ax) * (to - from);
  const high = (by - ay) * (to - from);
  const long = Math.max(1, Math.max(Math.abs(wide), Math.abs(high)));
  const steps = Math.ceil(long / stride);
  const sx = wide / steps;
  const sy = high / steps;
  for (let n = 0; n < steps; n++) {
    const column = x | 0;
    const row = y | 0;
    // What is clipped may still round out of the picture.
    if (column >= 0 && column < width && row >= 0 && row < height) data[row * width + column] = colour;
    x += sx;
    y += sy;
  }
  return long;
}

export function disc({ width, height, data }: Pixels, x: number, y: number, size: number, colour: Colour): void {
  const last = Math.min(height - 1, Math.floor(y + size));
  for (let row = Math.max(0, Math.ceil(y - size)); row <= last; row++) {
    const half = Math.sqrt(Math.max(0, size * size - (row - y) ** 2));
    const from = Math.max(0, Math.round(x - half));
    const to = Math.min(width, Math.round(x + half) + 1);
    if (from < to) data.fill(colour, row * width + from, row * width + to);
  }
}

/** Gives the length of all lines that are seen: long ones may be dotted the next time. */
export function paintCoarse(pixels: Pixels, place: Place, graph: Graph, colours: Colours, { selected, find }: { selected: string; find: string }, stride = 1): number {
  pixels.data.fill(0);
  let long = 0;
  const { left, top, scale } = place;
  const near: [number, number, number, number][] = [];
  for (const { source, target, weight } of graph.links.values()) {
    const ax = (source.x ?? 0) * scale + left;
    const ay = (source.y ?? 0) * scale + top;
    const bx = (target.x ?? 0) * scale + left;
    const by = (target.y ?? 0) * scale + top;
    if (source.id === selected || target.id === selected) near.push([ax, ay, bx, by]);
    else long += line(pixels, ax, ay, bx, by, colours.line[Math.min(colours.line.length - 1, Math.floor(weight * colours.line.length))]!, stride);
  }
  for (const [ax, ay, bx, by] of near) line(pixels, ax, ay, bx, by, colours.near);
  for (const node of graph.nodes.values()) {
    const x = (node.x ?? 0) * scale + left;
    const y = (node.y ?? 0) * scale + top;
    const size = radius(node.documents) * scale;
    if (x + size < 0 || x - size >= pixels.width || y + size < 0 || y - size >= pixels.height) continue;
    disc(pixels, x, y, size, node.id === selected || (find !== "" && node.name.includes(find)) ? colours.bright : colours.node);
  }
  return long;
}
