// The nodes of a graph find their places: a worker moves them, and they are drawn where it says.
import type { Graph, Node } from "./graph";
import type { Order } from "./moves.worker";

export class Moves {
  readonly nodes: Node[];
  #worker: Worker;
  #index = new Map<string, number>();

  constructor(graph: Graph, draw: () => void) {
    this.nodes = [...graph.nodes.values()];
    this.nodes.forEach((node, at) => this.#index.set(node.id, at));
    const places = new Float32Array(this.nodes.length * 2);
    this.nodes.forEach((node, at) => places.set([node.x ?? NaN, node.y ?? NaN], at * 2));
    this.#worker = new Worker(new URL("./moves.worker.ts", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }: MessageEvent<Float32Array>) => {
      this.nodes.forEach((node, at) => {
        node.x = data[at * 2];
        node.y = data[at * 2 + 1];
      });
      draw();
    };
    const links = [...graph.links.values()].map((link): [number, number, number] => [this.#index.get(link.source.id)!, this.#index.get(link.target.id)!, link.weight]);
    this.#tell({ kind: "start", places, documents: this.nodes.map((node) => node.documents), links }, [places.buffer]);
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
