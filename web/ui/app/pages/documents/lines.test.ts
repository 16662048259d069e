import { expect, test } from "vitest";
import { lines, marked } from "./lines";

test("matches stand in their lines", () => {
  // "ab\r\ncd😀\nef": matches "b", and "😀" to "e".
  const found = lines("ab\r\ncd😀\nef", [[1, 2], [6, 9]]);
  expect(found.map((line) => line.number)).toEqual([1, 2, 3]);
  expect(found.map((line) => line.pieces.filter((piece) => piece.marked).map((piece) => piece.text).join(""))).toEqual(["b", "😀", "e"]);
  expect(found.map((line) => line.pieces.map((piece) => piece.text).join(""))).toEqual(["ab", "cd😀", "ef"]);
});

test("i16 a part of a document keeps its lines", () => {
  expect(lines("a\nb", [[2, 3]], 75_790).map((line) => line.number)).toEqual([75_790, 75_791]);
});

test("marks count the characters that are shown", () => {
  const [line] = lines("a\u202eb😀c", [[1, 2], [3, 4]]);
  expect(line!.pieces.map((piece) => piece.text).join("")).toBe("a\\u{202e}b😀c");
  expect(marked(line!)).toEqual([[1, 9], [10, 11]]);
});
