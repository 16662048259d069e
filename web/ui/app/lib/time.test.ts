import { expect, test } from "vitest";
import { duration, relative } from "./time";

test.each([
  [7, "7 ms"], [1_540, "1.5 s"], [42_000, "42 s"], [125_000, "2 min 5 s"], [3_725_000, "1 h 2 min"], [200_000_000, "2 d 7 h"],
])("%i ms", (ms, said) => expect(duration(ms)).toBe(said));

test("relative times", () => {
  const now = Date.parse("2026-11-23T12:00:00Z");
  expect(relative(now - 1_000, now)).toBe("now");
  expect(relative(now - 20_000, now)).toBe("20 seconds ago");
  expect(relative("2026-11-23T11:55:00Z", now)).toBe("5 minutes ago");
  expect(relative("2026-11-22T11:00:00Z", now)).toBe("yesterday");
  expect(relative("nonsense", now)).toBe("");
});
