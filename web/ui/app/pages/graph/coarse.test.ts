import { expect, test } from "vitest";
import { clip, disc, line, paintCoarse, type Pixels } from "./coarse";
import { Graph } from "./graph";

const pixels = (width: number, height: number): Pixels => ({ width, height, data: new Uint32Array(width * height) });
const shown = ({ width, data }: Pixels) => Array.from({ length: data.length / width }, (_, row) => [...data.slice(row * width, (row + 1) * width)].join(""));

test("lines are cut at the edges of the picture", () => {
  expect(clip(-5, 1, 10, 0, 5, 3)).toEqual([0.5, 1]);
  expect(clip(-5, 5, 10, 0, 5, 3)).toBeNull();
  expect(clip(-9, -9, 3, 3, 5, 3)).toBeNull();
  const picture = pixels(5, 3);
  line(picture, -1e9, 1.5, 1e9, 1.5, 1);
  line(picture, -5, 1.5, 10, 1.5, 1);
  line(picture, 2.5, -100, 2.5, 100, 2);
  line(picture, NaN, 0, 1, 1, 3);
  expect(shown(picture)).toEqual(["00200", "11211", "00200"]);
});

test("discs lie over lines, and none leaves its row", () => {
  const picture = pixels(5, 5);
  disc(picture, 2, 2, 1, 7);
  disc(picture, -3, 2, 2, 8);
  disc(picture, 4, 4, 1, 9);
  expect(shown(picture)).toEqual(["00000", "00700", "07770", "00709", "00099"]);
  const graph = new Graph();
  graph.add({ concepts: [{ id: "a", name: "a", kind: "tag", documents: 0 }, { id: "b", name: "b", kind: "tag", documents: 0 }], edges: [{ from: "a", to: "b", weight: 1, kind: "near" }] });
  Object.assign(graph.nodes.get("a")!, { x: -10, y: 0 });
  Object.assign(graph.nodes.get("b")!, { x: 10, y: 0 });
  const whole = pixels(40, 11);
  paintCoarse(whole, { left: 20, top: 5, scale: 1 }, graph, { line: [1], near: 2, node: 3, bright: 4 }, { selected: "a", find: "" });
  expect([whole.data[5 * 40 + 10], whole.data[5 * 40 + 20], whole.data[5 * 40 + 30], whole.data[0]]).toEqual([4, 2, 3, 0]);
});
