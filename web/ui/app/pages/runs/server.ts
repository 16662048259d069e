// What these pages ask the runner.
import { api, ApiError, parts, request } from "../../lib/api";
import { nextCursor, writeFilters, type Filters } from "./filters";
import type { Artifact, JobGraph, KeptVm, LogMatches, LogOverview, LogRange, Run, RunTests, SeenRepository, StartableWorkflows, StepSummary, TestHistory, TestSummary } from "./model";
import type { TestView } from "./tests";

const PART = "runner";
const base: string = (await parts()).parts[PART]?.base ?? "";

/** The address of something of the runner, for links. */
export const at = (path: string): string => base + path;
const ask = <T>(path: string, options?: Parameters<typeof api>[2]): Promise<T> => api<T>(PART, path, options);
const of = (run: string): string => `/runs/${encodeURIComponent(run)}`;

/** What to tell a person about a failure. */
export const say = (error: unknown): string => (error instanceof Error ? error.message : "something went wrong");

export async function listRuns(filters: Filters, limit: number, cursor?: string): Promise<{ runs: Run[]; next?: string }> {
  const query = new URLSearchParams(writeFilters(filters));
  query.set("limit", String(limit));
  if (cursor) query.set("cursor", cursor);
  const answer = await request(PART, `/runs?${query}`);
  return { runs: (await answer.json()) as Run[], next: nextCursor(answer.headers.get("link")) };
}
export const repositories = (): Promise<SeenRepository[]> => ask("/repositories");
export const getRun = (run: string): Promise<Run> => ask(of(run));
export const jobGraph = (run: string): Promise<JobGraph> => ask(`${of(run)}/graph`);
export const artifacts = (run: string): Promise<Artifact[]> => ask(`${of(run)}/artifacts`);
export const logOverview = (run: string): Promise<LogOverview> => ask(`${of(run)}/log/overview`);
export const logLines = (run: string, job: string, step: number, from: number, lines: number): Promise<LogRange> =>
  ask(`${of(run)}/log/lines?${new URLSearchParams({ job, step: String(step), from: String(from), lines: String(lines) })}`);
export const logSearch = (run: string, job: string, step: number, q: string): Promise<LogMatches> =>
  ask(`${of(run)}/log/search?${new URLSearchParams({ job, step: String(step), q })}`);

/** A page of what the steps of a run wrote to their summaries. */
export async function stepSummaries(run: string, cursor: string): Promise<{ summaries: StepSummary[]; next?: string }> {
  const answer = await request(PART, `${of(run)}/summaries?${new URLSearchParams({ cursor })}`);
  return { summaries: (await answer.json()) as StepSummary[], next: nextCursor(answer.headers.get("link")) };
}
/** A page of the tests of a run. */
export async function runTests(run: string, view: TestView, text: string, limit: number, cursor?: string): Promise<{ tests: RunTests; next?: string }> {
  const query = new URLSearchParams({ limit: String(limit) });
  if (view === "slowest") query.set("sort", "slowest");
  else if (view !== "all") query.set("kind", view);
  if (text.trim()) query.set("text", text.trim());
  if (cursor) query.set("cursor", cursor);
  const answer = await request(PART, `${of(run)}/tests?${query}`);
  return { tests: (await answer.json()) as RunTests, next: nextCursor(answer.headers.get("link")) };
}
/** A page of the tests of a repository. */
export async function testSummaries(filters: Record<string, string>, cursor?: string): Promise<{ tests: TestSummary[]; next?: string }> {
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value));
  if (cursor) query.set("cursor", cursor);
  const answer = await request(PART, `/tests?${query}`);
  return { tests: (await answer.json()) as TestSummary[], next: nextCursor(answer.headers.get("link")) };
}
/** How one test ended, run by run. */
export function testHistory(repository: string, test: { suite: string; name: string; job: string }): Promise<TestHistory[]> {
  const query = new URLSearchParams({ repository, suite: test.suite, name: test.name });
  if (test.job) query.set("job", test.job);
  return ask(`/tests/history?${query}`);
}

/** The last run of the same workflow and branch that went well, if there is one. */
export async function lastGreen(run: string): Promise<Run | null> {
  try {
    return await ask<Run>(`${of(run)}/last-green`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}
/** Gives the new run's id. */
export const rerun = async (run: string, failedOnly: boolean, debug = false): Promise<string> => {
  const query = new URLSearchParams();
  if (failedOnly) query.set("failed", "true");
  // What cannot be had of it (a driver without snapshots) is said in the run's log.
  if (debug) query.set("snapshots", "true");
  const text = query.toString();
  return (await ask<{ run: string }>(`${of(run)}/rerun${text ? `?${text}` : ""}`, { method: "POST" })).run;
};
/** One job, however it ended, and what needs it; gives the new run's id. */
export const rerunJob = async (run: string, job: string): Promise<string> =>
  (await ask<{ run: string }>(`${of(run)}/rerun?${new URLSearchParams({ job })}`, { method: "POST" })).run;
/** Begins a failed job before a step, in the machine that is kept of it; gives the new run's id. */
export const rerunFrom = async (run: string, job: string, step: number): Promise<string> => {
  const query = new URLSearchParams({ job, from_step: String(step), snapshots: "true" });
  return (await ask<{ run: string }>(`${of(run)}/rerun?${query}`, { method: "POST" })).run;
};
/** Machines of failed jobs that are kept. */
export const keptVms = (run: string): Promise<KeptVm[]> => ask(`${of(run)}/kept`);
export const releaseVm = (run: string, job: string): Promise<unknown> =>
  ask(`${of(run)}/kept?${new URLSearchParams({ job, by: "somebody at the page" })}`, { method: "DELETE" });
/** Where a shell in a kept machine is, as a WebSocket. */
export function shellAddress(run: string, job: string, beforeStep?: number): URL {
  const address = new URL(at(`${of(run)}/shell`), location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.searchParams.set("job", job);
  address.searchParams.set("by", "somebody at the page");
  if (beforeStep !== undefined) address.searchParams.set("before_step", String(beforeStep));
  return address;
}
/** Why no shell opens, where the runner says so: browsers do not tell how a WebSocket was refused, so it is asked once more. */
export async function refusedShell(run: string, job: string): Promise<string | undefined> {
  try {
    await ask(`${of(run)}/shell?${new URLSearchParams({ job })}`);
    return undefined;
  } catch (error) {
    const text = say(error);
    return text.includes("speaks WebSocket only") ? undefined : text;
  }
}
export const cancelRun = (run: string): Promise<unknown> => ask(`${of(run)}/cancel`, { method: "POST" });
/** Approves or rejects all that the run waits for. */
export const review = (run: string, verdict: "approve" | "reject"): Promise<unknown> => ask(`${of(run)}/${verdict}`, { json: {} });
export const startable = (repository: string, branch: string): Promise<StartableWorkflows> =>
  ask(`/workflows?${new URLSearchParams(branch ? { repository, branch } : { repository })}`);
export const dispatch = async (json: { repository: string; branch?: string; workflow: string; inputs: Record<string, string> }): Promise<string> =>
  (await ask<{ run: string }>("/runs/dispatch", { json })).run;
