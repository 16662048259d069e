import { expect, test } from "vitest";
import { Graph } from "./graph";

const concept = (id: string, documents = 1) => ({ id, name: id, kind: "title", documents });

test("a graph grows, and an edge is there once", () => {
  const graph = new Graph();
  expect(graph.add({ concepts: [concept("a"), concept("b")], edges: [{ from: "a", to: "b", weight: 0.2, kind: "near" }] })).toBe(2);
  const more = { concepts: [concept("b"), concept("c")], edges: [{ from: "b", to: "a", weight: 0.9, kind: "together" }, { from: "b", to: "c", weight: 0.5, kind: "near" }, { from: "c", to: "gone", weight: 1, kind: "near" }] };
  expect(graph.add(more)).toBe(1);
  expect(graph.links.size).toBe(2);
  expect(graph.neighbours("b").map((one) => [one.node.id, one.weight])).toEqual([["a", 0.9], ["c", 0.5]]);
});
