// What the orchestrator says, in its words (its OpenAPI document, by `npm run types`), and what is told of it.

import type { components } from "../../api/orchestrator";

type Schemas = components["schemas"];
export type AgentRun = Schemas["RunView"];
export type Exit = Schemas["ExitView"];
export type Agent = Schemas["AgentView"];
export type Status = Schemas["StatusView"];
export type Calendar = Schemas["CalendarView"];
export type RouteAnswer = Schemas["RouteAnswer"];
export type Prompt = Schemas["PromptView"];

/** A word of the orchestrator as people read it: `next_tick` is `next tick`. */
export const words = (text: string): string => text.replaceAll("_", " ");

/** Hundredths of a currency: `1.25`. */
export const money = (cents: number): string => (cents / 100).toFixed(2);

/** How a run stands, with a sign that does not need colour. */
export function standing(run: AgentRun): { sign: string; text: string; tone: "good" | "bad" | "warn" | "quiet" } {
  if (run.state === "rejected") return { sign: "⊘", text: `refused: ${words(run.reason ?? "no reason")}`, tone: "bad" };
  if (run.state === "cancelled") return { sign: "⊘", text: run.reason ? `cancelled: ${words(run.reason)}` : "cancelled", tone: "quiet" };
  if (run.state === "queued") return { sign: "…", text: `waits: ${words(run.hold ?? "next tick")}`, tone: "quiet" };
  if (run.state === "running" || run.state === "starting") return { sign: "●", text: run.state, tone: "warn" };
  const result = run.exit?.class ?? "exited";
  const good = result === "success" || result === "empty_success";
  return { sign: good ? "✓" : "✕", text: words(result), tone: good ? "good" : "bad" };
}

/** How much of a budget is used, in per cent; nothing where there is no limit. */
export function used(agent: Agent): { of: string; per_cent: number } | null {
  const found: { of: string; per_cent: number }[] = [];
  if (agent.budget_cents) {
    found.push({ of: `${money(agent.month_cents)} of ${money(agent.budget_cents)}`, per_cent: (100 * agent.month_cents) / agent.budget_cents });
  }
  if (agent.budget_runs) {
    found.push({ of: `${agent.month_runs} of ${agent.budget_runs} runs`, per_cent: (100 * agent.month_runs) / agent.budget_runs });
  }
  return found.sort((a, b) => b.per_cent - a.per_cent)[0] ?? null;
}

/** The dates of all schedules by day in the reader's zone, oldest first. */
export function byDay(calendar: Calendar, zone?: string): { day: string; entries: { at: string; project: string; agent: string; active: boolean }[] }[] {
  const all = calendar.schedules.flatMap((one) => one.due.map((at) => ({ at, project: one.project, agent: one.agent, active: one.active })));
  all.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const format = new Intl.DateTimeFormat("en-CA", { dateStyle: "short", timeZone: zone });
  const days = new Map<string, typeof all>();
  for (const entry of all) {
    const day = format.format(new Date(entry.at));
    days.set(day, [...(days.get(day) ?? []), entry]);
  }
  return [...days].map(([day, entries]) => ({ day, entries }));
}

/** Why a tried text goes where it goes. */
export function rule(run: RouteAnswer["runs"][number]): string {
  const model = [run.provider, run.model].filter(Boolean).join(", ");
  switch (run.rule) {
    case "agent": return `the agent names its model: ${model}`;
    case "table": return `the routing table “${run.table}” matches: ${model}`;
    case "default": return "no table matches: the program's own model";
    default: return "it needs no model";
  }
}
