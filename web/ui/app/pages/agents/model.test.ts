import { describe, expect, it } from "vitest";
import { byDay, standing, used, type Agent, type AgentRun } from "./model";

const run = (more: Partial<AgentRun>): AgentRun => ({ state: "queued", hold: null, reason: null, exit: null, ...more }) as AgentRun;
const agent = (more: Partial<Agent>): Agent => ({ month_runs: 0, month_cents: 0, ...more }) as Agent;

describe("how a run stands", () => {
  it("is said with the reason", () => {
    expect(standing(run({ hold: "project_paused" })).text).toBe("waits: project paused");
    expect(standing(run({ state: "rejected", reason: "budget_exhausted" }))).toMatchObject({ text: "refused: budget exhausted", tone: "bad" });
    expect(standing(run({ state: "exited", exit: { class: "test_failure" } as AgentRun["exit"] })).tone).toBe("bad");
    expect(standing(run({ state: "exited", exit: { class: "empty_success" } as AgentRun["exit"] })).tone).toBe("good");
  });
});

describe("budgets", () => {
  it("show the one that is used most, and none without a limit", () => {
    expect(used(agent({}))).toBeNull();
    expect(used(agent({ budget_cents: 1000, month_cents: 250 }))).toEqual({ of: "2.50 of 10.00", per_cent: 25 });
    expect(used(agent({ budget_cents: 1000, month_cents: 250, budget_runs: 2, month_runs: 2 }))?.per_cent).toBe(100);
  });
});

describe("the calendar", () => {
  it("has days of the reader's zone, oldest first", () => {
    const entry = (agent: string, due: string[]) => ({ project: "main", agent, active: true, expression: "", time_zone: "UTC", due, more: false });
    const days = byDay({ from: "", to: "", schedules: [entry("late", ["2026-11-23T23:30:00Z"]), entry("early", ["2026-11-23T01:00:00Z"])] }, "Europe/Berlin");
    expect(days.map((day) => [day.day, day.entries.map((one) => one.agent)])).toEqual([["2026-11-23", ["early"]], ["2026-11-24", ["late"]]]);
  });
});
