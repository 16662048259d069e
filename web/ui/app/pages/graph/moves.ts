// The nodes of a graph find their places: a worker moves them, and they are drawn where it says.
import type { Graph, Node } from "./graph";
import type { Order } from "./moves.worker";

/** Places of a big graph come a few times a second; what lies between is drawn at the pace of the screen. */
const MOST_MS = 250;

/** From where the nodes are drawn to where they belong. */
export class Way {
  readonly #from: Float32Array;

  constructor(nodes: readonly Node[], readonly to: Float32Array, readonly began: number, readonly span: number) {
    this.#from = new Float32Array(to.length);
    // What was nowhere yet begins where it belongs.
    nodes.forEach((node, at) => this.#from.set([node.x ?? to[at * 2]!, node.y ?? to[at * 2 + 1]!], at * 2));
  }

  /** Whether they go on after this moment. */
  step(nodes: readonly Node[], now: number): boolean {
    const share = this.span > 0 ? Math.min(1, Math.max(0, (now - this.began) / this.span)) : 1;
    for (let at = 0; at < nodes.length; at++) {
      const node = nodes[at]!;
      const [x, y] = [2 * at, 2 * at + 1];
      node.x = this.#from[x]! + (this.to[x]! - this.#from[x]!) * share;
      node.y = this.#from[y]! + (this.to[y]! - this.#from[y]!) * share;
    }
    return share < 1;
  }
}

export class Moves {
  readonly nodes: Node[];
  #worker: Worker;
  #index = new Map<string, number>();
  #way: Way | null = null;
  #heard = -Infinity;

  constructor(graph: Graph, draw: () => void) {
    this.nodes = [...graph.nodes.values()];
    this.nodes.forEach((node, at) => this.#index.set(node.id, at));
    const places = new Float32Array(this.nodes.length * 2);
    this.nodes.forEach((node, at) => places.set([node.x ?? NaN, node.y ?? NaN], at * 2));
    this.#worker = new Worker(new URL("./moves.worker.ts", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }: MessageEvent<Float32Array>) => {
      const now = performance.now();
      this.#way = new Way(this.nodes, data, now, Math.min(MOST_MS, now - this.#heard));
      this.#heard = now;
      draw();
    };
    const links = [...graph.links.values()].map((link): [number, number, number] => [this.#index.get(link.source.id)!, this.#index.get(link.target.id)!, link.weight]);
    this.#tell({ kind: "start", places, documents: this.nodes.map((node) => node.documents), links }, [places.buffer]);
  }

  /** Moves the nodes to where they are at this moment; whether they are still on their way. */
  step(now: number): boolean {
    const goes = this.#way?.step(this.nodes, now) ?? false;
    if (!goes) this.#way = null;
    return goes;
  }

  /** The nearest node within a distance. */
  find(x: number, y: number, within: number): Node | null {
    let [found, least]: [Node | null, number] = [null, within];
    for (const node of this.nodes) {
      const far = Math.hypot((node.x ?? 0) - x, (node.y ?? 0) - y);
      if (far <= least) [found, least] = [node, far];
    }
    return found;
  }

  hold(node: Node, x: number, y: number): void {
    this.#tell({ kind: "hold", at: this.#index.get(node.id) ?? -1, x, y });
  }

  release(node: Node): void {
    this.#tell({ kind: "release", at: this.#index.get(node.id) ?? -1 });
  }

  stop(): void {
    this.#worker.terminate();
  }

  #tell(order: Order, transfer: Transferable[] = []): void {
    this.#worker.postMessage(order, transfer);
  }
}
