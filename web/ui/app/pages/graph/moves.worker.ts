// Places the nodes of a graph beside the page: a big one takes longer than the page may be held up.
import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation, type Simulation } from "d3-force";
import { radius } from "./radius";

interface Body {
  index?: number;
  x?: number;
  y?: number;
  vx?: number;
  vy?: number;
  fx?: number | null;
  fy?: number | null;
  size: number;
}
interface Joint { source: Body; target: Body; weight: number }

export type Order =
  | { kind: "start"; places: Float32Array; documents: number[]; links: [number, number, number][] }
  | { kind: "hold"; at: number; x: number; y: number }
  | { kind: "release"; at: number };

let bodies: Body[] = [];
let moves: Simulation<Body, undefined> | null = null;

/** Where each node is: x and y in turn. */
function tell(): void {
  const places = new Float32Array(bodies.length * 2);
  bodies.forEach((body, at) => places.set([body.x ?? 0, body.y ?? 0], at * 2));
  postMessage(places, { transfer: [places.buffer] });
}

function start(order: Extract<Order, { kind: "start" }>): void {
  moves?.stop();
  const known = (value: number | undefined) => (value === undefined || Number.isNaN(value) ? undefined : value);
  bodies = order.documents.map((documents, at) => ({ x: known(order.places[at * 2]), y: known(order.places[at * 2 + 1]), size: radius(documents) }));
  const joints = order.links.map(([from, to, weight]) => ({ source: bodies[from]!, target: bodies[to]!, weight }));
  const links = forceLink<Body, Joint>(joints).distance((joint) => 40 + 60 * (1 - joint.weight));
  moves = forceSimulation<Body>(bodies)
    .force("links", links.strength((joint) => 0.1 + 0.5 * joint.weight))
    // Farther nodes are taken together the more there are.
    .force("apart", forceManyBody<Body>().strength(-40).distanceMax(250).theta(bodies.length > 2000 ? 1.2 : 0.9))
    .force("room", forceCollide<Body>((body) => body.size + 2))
    .force("middle", forceCenter(0, 0))
    .on("tick", tell);
}

onmessage = ({ data }: MessageEvent<Order>) => {
  if (data.kind === "start") return start(data);
  const body = bodies[data.at];
  if (!body || !moves) return;
  [body.fx, body.fy] = data.kind === "hold" ? [data.x, data.y] : [null, null];
  moves.alphaTarget(data.kind === "hold" ? 0.2 : 0);
  if (data.kind === "hold") moves.restart();
};
