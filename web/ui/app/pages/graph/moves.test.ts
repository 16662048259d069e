import { expect, it } from "vitest";
import type { Node } from "./graph";
import { Way } from "./moves";

it("nodes go evenly to where they belong, and arrive", () => {
  const nodes = [{ x: 0, y: 10 }, {}] as Node[];
  const way = new Way(nodes, new Float32Array([100, 20, 5, 6]), 1000, 200);
  expect(way.step(nodes, 1050)).toBe(true);
  expect(nodes).toEqual([{ x: 25, y: 12.5 }, { x: 5, y: 6 }]);
  expect(way.step(nodes, 1100)).toBe(true);
  expect(nodes[0]).toEqual({ x: 50, y: 15 });
  expect(way.step(nodes, 5000)).toBe(false);
  expect(nodes[0]).toEqual({ x: 100, y: 20 });
  // Places that come for the first time are taken as they are.
  const first = [{ x: 1, y: 1 }] as Node[];
  expect(new Way(first, new Float32Array([3, 4]), 0, 0).step(first, 0)).toBe(false);
  expect(first[0]).toEqual({ x: 3, y: 4 });
});
