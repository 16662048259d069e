import { expect, test } from "vitest";
import { lines } from "./lines";

test("matches stand in their lines", () => {
  // "ab\r\ncd😀\nef": matches "b", and "😀" to "e".
  const found = lines("ab\r\ncd😀\nef", [[1, 2], [6, 9]]);
  expect(found.map((line) => line.number)).toEqual([1, 2, 3]);
  expect(found.map((line) => line.pieces.filter((piece) => piece.marked).map((piece) => piece.text).join(""))).toEqual(["b", "😀", "e"]);
  expect(found.map((line) => line.pieces.map((piece) => piece.text).join(""))).toEqual(["ab", "cd😀", "ef"]);
});
