// Draws a graph: what is outside is left out, and what looks alike is drawn at once.
import { visible } from "../../lib/text";
import { paintCoarse } from "./coarse";
import type { Graph, Link, Node } from "./graph";
import { radius } from "./radius";

export interface View { x: number; y: number; scale: number }
export interface Look { text: string; line: string; accent: string; font: string }

/** Lines of one path: long paths take longer than their parts. */
const PIECE = 256;
/** Shades of lines, by their weight. */
const SHADES = 4;
/** Nodes smaller than this are squares: nobody sees the difference. */
const ROUND_FROM = 3;

export function paint(pen: CanvasRenderingContext2D, size: { width: number; height: number }, view: View, graph: Graph, look: Look, chosen: { selected: string; find: string }): void {
  pen.clearRect(0, 0, size.width, size.height);
  pen.translate(size.width / 2 + view.x, size.height / 2 + view.y);
  pen.scale(view.scale, view.scale);
  const [left, top] = [(-size.width / 2 - view.x) / view.scale, (-size.height / 2 - view.y) / view.scale];
  const seen: Seen = { left, top, right: left + size.width / view.scale, bottom: top + size.height / view.scale };
  paintLinks(pen, view, graph, look, chosen.selected, seen);
  paintNodes(pen, view, graph, look, chosen, seen);
  pen.globalAlpha = 1;
}

/** How many nodes and links are drawn by paths while they move. */
export const FINE_UP_TO = 1_500;
let bytes: { image: ImageData; data: Uint32Array } | null = null;
/** Pixels of lines that are drawn for one picture of a moving graph: more of them are dotted. */
const MAX_PIXELS = 1_500_000;
let stride = 1;
const known = new Map<string, [number, number, number]>();

/** Red, green and blue of a colour of the style sheet, however it is written. */
function parts(colour: string): [number, number, number] {
  let found = known.get(colour);
  if (!found) {
    const pen = new OffscreenCanvas(1, 1).getContext("2d")!;
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0] = pen.getImageData(0, 0, 1, 1).data;
    known.set(colour, (found = [red, green, blue]));
  }
  return found;
}

const packed = (colour: string, alpha: number): number => {
  const [red, green, blue] = parts(colour);
  return new Uint32Array(new Uint8Array([red, green, blue, Math.round(alpha * 255)]).buffer)[0]!;
};

/** A big graph while it moves: roughly, and at once. */
export function paintMoving(pen: CanvasRenderingContext2D, size: { width: number; height: number }, ratio: number, view: View, graph: Graph, look: Look, chosen: { selected: string; find: string }): void {
  const { width, height } = pen.canvas;
  if (bytes?.image.width !== width || bytes.image.height !== height) {
    const image = new ImageData(width, height);
    bytes = { image, data: new Uint32Array(image.data.buffer) };
  }
  const place = { left: (size.width / 2 + view.x) * ratio, top: (size.height / 2 + view.y) * ratio, scale: view.scale * ratio };
  const long = paintCoarse({ width, height, data: bytes.data }, place, graph, {
    line: Array.from({ length: SHADES }, (_, shade) => packed(look.line, 0.5 + (0.5 * (shade + 0.5)) / SHADES)),
    near: packed(look.accent, 0.9),
    node: packed(look.text, 0.65),
    bright: packed(look.accent, 1),
  }, chosen, stride);
  stride = Math.max(1, Math.ceil(long / MAX_PIXELS));
  pen.putImageData(bytes.image, 0, 0);
}

interface Seen { left: number; top: number; right: number; bottom: number }

function crosses({ source, target }: Link, seen: Seen): boolean {
  const [ax, ay, bx, by] = [source.x ?? 0, source.y ?? 0, target.x ?? 0, target.y ?? 0];
  return Math.max(ax, bx) >= seen.left && Math.min(ax, bx) <= seen.right && Math.max(ay, by) >= seen.top && Math.min(ay, by) <= seen.bottom;
}

function paintLinks(pen: CanvasRenderingContext2D, view: View, graph: Graph, look: Look, selected: string, seen: Seen): void {
  const shades: Link[][] = Array.from({ length: SHADES }, () => []);
  const near: Link[] = [];
  for (const link of graph.links.values()) {
    if (!crosses(link, seen)) continue;
    if (link.source.id === selected || link.target.id === selected) near.push(link);
    else shades[Math.min(SHADES - 1, Math.floor(link.weight * SHADES))]!.push(link);
  }
  pen.strokeStyle = look.line;
  pen.lineWidth = 0.7 / view.scale;
  shades.forEach((links, shade) => {
    pen.globalAlpha = 0.5 + (0.5 * (shade + 0.5)) / SHADES;
    stroke(pen, links);
  });
  pen.strokeStyle = look.accent;
  pen.globalAlpha = 0.9;
  pen.lineWidth = 1.5 / view.scale;
  stroke(pen, near);
}

function stroke(pen: CanvasRenderingContext2D, links: Link[]): void {
  for (let from = 0; from < links.length; from += PIECE) {
    pen.beginPath();
    for (const { source, target } of links.slice(from, from + PIECE)) {
      pen.moveTo(source.x ?? 0, source.y ?? 0);
      pen.lineTo(target.x ?? 0, target.y ?? 0);
    }
    pen.stroke();
  }
}

function paintNodes(pen: CanvasRenderingContext2D, view: View, graph: Graph, look: Look, { selected, find }: { selected: string; find: string }, seen: Seen): void {
  const plain: Node[] = [];
  const bright: Node[] = [];
  for (const node of graph.nodes.values()) {
    const [x, y, size] = [node.x ?? 0, node.y ?? 0, radius(node.documents)];
    if (x + size < seen.left || x - size > seen.right || y + size < seen.top || y - size > seen.bottom) continue;
    (node.id === selected || (find !== "" && node.name.includes(find)) ? bright : plain).push(node);
  }
  pen.fillStyle = look.text;
  pen.globalAlpha = 0.65;
  fill(pen, plain, view.scale);
  pen.fillStyle = look.accent;
  pen.globalAlpha = 1;
  fill(pen, bright, view.scale);
  pen.fillStyle = look.text;
  pen.textAlign = "center";
  pen.font = `${12 / view.scale}px ${look.font}`;
  // Names of the concepts that most documents hold, more of them from nearby.
  const named = plain.sort((a, b) => b.documents - a.documents).slice(0, 30 * view.scale * view.scale);
  for (const node of [...named, ...bright.slice(0, 200)]) {
    pen.fillText(visible(node.name).slice(0, 40), node.x ?? 0, (node.y ?? 0) - radius(node.documents) - 3 / view.scale);
  }
}

function fill(pen: CanvasRenderingContext2D, nodes: Node[], scale: number): void {
  for (let from = 0; from < nodes.length; from += PIECE) {
    pen.beginPath();
    for (const node of nodes.slice(from, from + PIECE)) {
      const [x, y, size] = [node.x ?? 0, node.y ?? 0, radius(node.documents)];
      if (size * scale < ROUND_FROM) pen.rect(x - size, y - size, 2 * size, 2 * size);
      else {
        pen.moveTo(x + size, y);
        pen.arc(x, y, size, 0, 2 * Math.PI);
      }
    }
    pen.fill();
  }
}
