import { describe, expect, it } from "vitest";
import { below, changes, ending, rows, type Actor } from "./tree";

const actor = (name: string, more: Partial<Actor> = {}): Actor => ({
  name, kind: "worker", restart: "permanent", state: "running", incarnation: 1, restarts: 0, mailbox: 0, capacity: 16,
  last_exit: null, last_exit_at_ms: null, children: [], ...more,
});
const tree = (more: Partial<Actor> = {}) =>
  actor("orrery", { children: [actor("search", { children: [actor("keeper", more)] }), actor("vms")] });

describe("rows", () => {
  it("are those whose parents are open", () => {
    expect(rows(tree(), new Set()).map((row) => row.path)).toEqual(["orrery", "orrery/search", "orrery/search/keeper", "orrery/vms"]);
    expect(rows(tree(), new Set(["orrery/search"])).map((row) => row.path)).toEqual(["orrery", "orrery/search", "orrery/vms"]);
  });
  it("are found with what is above them", () => {
    expect(rows(tree(), new Set(["orrery/search"]), "KEEP").map((row) => [row.actor.name, row.position, row.siblings])).toEqual([
      ["orrery", 1, 1], ["search", 1, 1], ["keeper", 1, 1],
    ]);
  });
  it("say what a closed one hides", () => {
    expect(below(tree({ restarts: 2, state: "parked", mailbox: 3 }))).toEqual({ restarts: 2, down: 1, waiting: 3 });
  });
});

describe("changes", () => {
  it("tell of a restart that was over before the next look", () => {
    const now = tree({ incarnation: 2, restarts: 1, last_exit: { panic: "boom" } });
    expect(changes(tree(), now)).toEqual([
      { path: "orrery/search/keeper", text: "was started again (incarnation 2); before: panic: boom", bad: true },
    ]);
  });
  it("tell of a failure and of its end", () => {
    expect(changes(tree(), tree({ state: "backing_off", last_exit: "normal" }))[0]?.text).toBe("failed: normal; it is started again soon");
    expect(changes(tree({ state: "backing_off" }), tree({ incarnation: 2 })).map((one) => one.bad)).toEqual([true, false]);
    expect(changes(tree(), tree())).toEqual([]);
    expect(changes(null, tree({ incarnation: 5 }))).toEqual([]);
  });
  it("say endings in words", () => {
    expect(ending({ kind: "hung", missed: 3 })).toBe("hung, 3");
    expect(ending(null)).toBeNull();
  });
});
