import { expect, test } from "vitest";
import { named, type Actor } from "./palette";

const actor = (name: string, children: Actor[] = []): Actor => ({ name, state: "running", restarts: 0, children });

test("actors are found by name first, then by the path they are on", () => {
  const root = actor("root", [actor("search", [actor("indexer"), actor("registry")]), actor("research-index")]);
  expect(named(root, "index").map((one) => one.path)).toEqual(["root/search/indexer", "root/research-index"]);
  expect(named(root, "SEARCH").map((one) => one.path)).toEqual(["root/search", "root/research-index", "root/search/indexer", "root/search/registry"]);
  expect(named(root, "nobody")).toEqual([]);
  expect(named(root, "r", 2)).toHaveLength(2);
});
