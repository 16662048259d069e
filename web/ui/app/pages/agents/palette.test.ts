import { expect, it } from "vitest";
import { found } from "./palette";

it("agents are found by name first, then by project and what they are for", () => {
  const agent = (project: string, agent: string, description = "") => ({ project, agent, description });
  const all = [agent("main", "developer", "writes what the reviewer reads"), agent("main", "pre-review"), agent("reviews", "x"), agent("main", "reviewer"), agent("main", "other")];
  expect(found(all, " Review ").map((one) => one.agent)).toEqual(["reviewer", "pre-review", "developer", "x"]);
  expect(found(all, "main/other").map((one) => one.agent)).toEqual(["other"]);
  expect(found(all, "nobody")).toEqual([]);
});
