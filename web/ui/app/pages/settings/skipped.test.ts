import { expect, test } from "vitest";
import { REASONS } from "./skipped";

// The server's own names, as `FileSkip::as_str` gives them.
const sources = import.meta.glob<string>("../../../../../actors/search-engine/src/walk/skip.rs", { eager: true, query: "?raw", import: "default" });
const source = Object.values(sources).join("");
const named = [...source.matchAll(/Self::\w+ => "(\w+)",/g)].map((found) => found[1] ?? "");

test("i16 every reason of the server has its words", () => {
  expect(named.length).toBeGreaterThan(15);
  expect(Object.keys(REASONS).sort()).toEqual(named.sort());
});
