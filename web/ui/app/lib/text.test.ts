import { expect, test } from "vitest";
import { pieces, plural, visible } from "./text";

test("controls and bidirectional characters are shown", () => {
  expect(visible("a\u202eb\u0007c\td\ne")).toBe("a\\u{202e}b\\u{7}c\td\ne");
});

test("ranges are counted in scalar values", () => {
  expect(pieces("a😀bc", [[1, 3]])).toEqual([
    { text: "a", marked: false },
    { text: "😀b", marked: true },
    { text: "c", marked: false },
  ]);
  expect(pieces("abc", [[2, 9], [1, 2]])).toEqual([
    { text: "ab", marked: false },
    { text: "c", marked: true },
  ]);
});

test("counts", () => {
  expect(plural(1, "run")).toBe("1 run");
  expect(plural(12345, "run")).toBe("12,345 runs");
});
