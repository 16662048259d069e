import { expect, test } from "vitest";
import { editorLink, facetFilter, hasFilter, isWeb, progress, readSort, readSources, toggleFilter, writeSources } from "./search";

test("sources survive an address", () => {
  const names = ["Notes, old", "a,b%2C", "ü"];
  expect(readSources(writeSources(names))).toEqual(names);
  expect(readSources(null)).toEqual([]);
});

test("progress of all sources that are indexed", () => {
  expect(progress([{ indexing: { done: 3, total: 10 } }, {}, { indexing: { done: 1, total: 5 } }])).toEqual({ done: 4, total: 15 });
  expect(progress([{}])).toBeNull();
});

test.each([
  ["vscode://file{path}:{line}", "/a b/c.rs", "vscode://file/a%20b/c.rs:7"],
  ["vscode://file{path}", "/a#b?c$&.rs", "vscode://file/a%23b%3Fc$&.rs"],
  ["javascript:alert(1)//{path}", "/a", null],
  ["{path}", "data:text/html,x", null],
  ["{path}", "/etc/passwd", null],
])("editor %s", (template, path, link) => expect(editorLink(template, path, 7)).toBe(link));

test("only web addresses are opened", () => {
  expect(isWeb("https://example.org")).toBe(true);
  expect(isWeb("javascript:alert(1)")).toBe(false);
  expect(isWeb("file:///etc/passwd")).toBe(false);
});

test.each([
  ["types", "rs", "path:*.rs"],
  ["folders", "src/net/", "path:src/net/"],
  ["folders", "my notes/", 'path:"my notes/"'],
  ["tags", "kernel", "tag:kernel"],
  ["roles", "test", "is:test"],
  ["tags", 'web "server"', 'tag:"web  server "'],
] as const)("filter of %s %s", (facet, value, filter) => {
  expect(facetFilter(facet, value)).toBe(filter);
  const with_ = toggleFilter("lift of wings", filter);
  expect(with_).toBe(`lift of wings ${filter}`);
  expect(hasFilter(with_, filter)).toBe(true);
  expect(toggleFilter(with_, filter)).toBe("lift of wings");
  expect(toggleFilter(`a ${filter} b`, filter)).toBe("a b");
});

test("a filter that another begins with is another", () => {
  expect(hasFilter("x path:*.rst", "path:*.rs")).toBe(false);
  expect(hasFilter("x notpath:*.rs", "path:*.rs")).toBe(false);
});

test("an order nobody knows is the best match first", () => {
  expect(readSort("newest")).toBe("newest");
  expect(readSort("loudest")).toBe("relevance");
  expect(readSort(null)).toBe("relevance");
});
