// Concepts and what joins them.
import { api } from "../../lib/api";

export interface Concept {
  id: string;
  name: string;
  kind: string;
  documents: number;
}

export interface Edge {
  from: string;
  to: string;
  weight: number;
  kind: string;
}

interface Answer {
  role: string;
  concepts: Concept[];
  edges: Edge[];
  documents: string[];
}

export interface Node extends Concept {
  x?: number;
  y?: number;
}

export interface Link {
  source: Node;
  target: Node;
  weight: number;
  kind: string;
}

export function ask(role: string, concept: string, limit: number, signal?: AbortSignal): Promise<Answer> {
  const query = new URLSearchParams({ limit: String(limit), ...(role && { role }), ...(concept && { concept }) });
  return api<Answer>("search", `/api/graph?${query}`, { signal });
}

/** Nodes and links, grown by what is asked for; what stands keeps its place. */
export class Graph {
  readonly nodes = new Map<string, Node>();
  readonly links = new Map<string, Link>();

  /** Adds an answer around a node that is there; says how many concepts are new. */
  add(answer: Pick<Answer, "concepts" | "edges">, around?: Node): number {
    const before = this.nodes.size;
    for (const concept of answer.concepts) {
      if (!this.nodes.has(concept.id)) this.nodes.set(concept.id, { ...concept, x: around?.x, y: around?.y });
    }
    for (const edge of answer.edges) {
      const [source, target] = [this.nodes.get(edge.from), this.nodes.get(edge.to)];
      if (!source || !target) continue;
      const key = [edge.from, edge.to].sort().join(" ");
      const known = this.links.get(key);
      if (!known || known.weight < edge.weight) this.links.set(key, { source, target, weight: edge.weight, kind: edge.kind });
    }
    return this.nodes.size - before;
  }

  /** What joins a node to others, the strongest first. */
  neighbours(id: string): { node: Node; weight: number; kind: string }[] {
    const found = [...this.links.values()].flatMap((link) => {
      if (link.source.id === id) return [{ node: link.target, weight: link.weight, kind: link.kind }];
      return link.target.id === id ? [{ node: link.source, weight: link.weight, kind: link.kind }] : [];
    });
    return found.sort((a, b) => b.weight - a.weight);
  }
}
