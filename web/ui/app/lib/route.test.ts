import { describe, expect, test } from "vitest";
import { match, segments } from "./route";

describe("addresses", () => {
  test.each([
    ["/runs", "/runs", {}],
    ["/runs", "/runs/", {}],
    ["/runs/:id", "/runs/a%20b", { id: "a b" }],
    ["/runs/:id", "/runs", null],
    ["/runs/:id", "/runs/1/2", null],
    ["/documents/*id", "/documents/s/a%2Fb/c", { id: "s/a/b/c" }],
    ["/documents/*id", "/documents", null],
    ["/x/:id", "/x/%E0%A4%A", { id: "%E0%A4%A" }],
  ])("%s of %s", (pattern, path, parameters) => {
    expect(match(pattern, path)).toEqual(parameters);
  });

  test("an id keeps its slashes", () => {
    expect(segments("a b/ü?")).toBe("a%20b/%C3%BC%3F");
  });
});
