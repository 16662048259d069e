// What the runner's API says of runs: the shapes of its OpenAPI document (`npm run types`).

import type { components } from "../../api/runner";
import type { Sent } from "../../lib/sent";

type Schemas = components["schemas"];
export type RunState = Schemas["RunState"];
export type Conclusion = Schemas["Conclusion"];
export type Step = Sent<Schemas["StepRecord"]>;
export type StepEnd = Sent<Schemas["StepEnd"]>;
export type Job = Sent<Schemas["JobRecord"]>;
export type Run = Sent<Schemas["RunRecord"]>;
export type GraphState = Schemas["GraphState"];
export type GraphCopy = Sent<Schemas["GraphCopy"]>;
export type GraphJob = Sent<Schemas["GraphJob"]>;
export type JobGraph = Sent<Schemas["JobGraph"]>;
export type LineKind = Schemas["LineKind"];
export type LogLine = Sent<Schemas["NumberedLine"]>;
export type LogRange = Sent<Schemas["LogRange"]>;
export type LogSection = Sent<Schemas["LogSection"]>;
export type LogNote = Sent<Schemas["LogNote"]>;
export type LogOverview = Sent<Schemas["LogOverview"]>;
export type LogMatch = Sent<Schemas["LogMatch"]>;
export type LogMatches = Sent<Schemas["LogMatches"]>;
export type Artifact = Sent<Schemas["Artifact"]>;
export type KeptVm = Sent<Schemas["KeptVmView"]>;
export type SeenRepository = Sent<Schemas["SeenRepository"]>;
export type DispatchInput = Sent<Schemas["DispatchInput"]>;
export type StartableWorkflow = Sent<Schemas["StartableWorkflow"]>;
export type StepSummary = Sent<Schemas["StepSummary"]>;
export type StartableWorkflows = Sent<Schemas["StartableWorkflows"]>;

export type TestCounts = Sent<Schemas["TestCounts"]>;
export type RunTest = Sent<Schemas["RunTest"]>;
export type RunTests = Sent<Schemas["RunTests"]>;
export type TestSummary = Sent<Schemas["TestSummary"]>;
export type TestHistory = Sent<Schemas["TestHistory"]>;

const ENDED: ReadonlySet<RunState> = new Set(['succeeded', 'failed', 'cancelled', 'timed_out', 'lost', 'refused', 'ignored']);
export const hasEnded = (run: Pick<Run, 'state'>): boolean => ENDED.has(run.state);

/** Whether somebody has to approve the run, or environments of it. */
export function awaitsReview(run: Pick<Run, 'state' | 'approval' | 'environments'>): boolean {
  if (hasEnded(run)) return false;
  const gates = run.environments ?? [];
  const isFork = run.state === 'waiting' && !!run.approval && !run.approval.review;
  return isFork || gates.some((gate) => gate.for_approval && !gate.settled && !gate.review);
}

/** States that a list can be filtered by, with how they are called. */
export const STATES: [string, string][] = [
  ['active', 'under way'], ['waiting', 'waiting'], ['succeeded', 'succeeded'], ['failed', 'failed'], ['cancelled', 'cancelled'],
  ['timed_out', 'timed out'], ['lost', 'lost'], ['refused', 'refused'],
];
export const stateWord = (state: string): string => state.replaceAll('_', ' ');

/** How a state looks: four kinds, whatever the words. */
export type Tone = 'good' | 'bad' | 'live' | 'quiet';
export function toneOf(state: string): Tone {
  if (state === 'succeeded' || state === 'success') return 'good';
  if (['failed', 'failure', 'timed_out', 'lost', 'refused'].includes(state)) return 'bad';
  if (['cancelled', 'skipped', 'ignored'].includes(state)) return 'quiet';
  return 'live';
}
/** The sign of a state, beside its word: colour alone tells nothing. */
export const signOf = (state: string): string => ({ good: '✓', bad: '✕', live: '●', quiet: '–' })[toneOf(state)];

export function jobState(job: Job): GraphState {
  return job.conclusion ?? (job.started_at ? 'running' : 'waiting');
}
export function stepState(step: Step): GraphState {
  if (!step.end) return 'running';
  if (step.end.ended === 'skipped') return 'skipped';
  if (step.end.ended === 'cancelled') return 'cancelled';
  return step.end.ended === 'exited' && step.end.code === 0 ? 'success' : 'failure';
}
/** Where the first summary stands that the record leaves out: they are shown up to 16 MiB together. */
export function leftOutSummary(run: Pick<Run, 'jobs'>): string | undefined {
  for (const [at, job] of run.jobs.entries()) {
    const step = job.steps.find((one) => one.summary_bytes != null && one.summary == null);
    if (step) return `${at}-${step.number}`;
  }
  return undefined;
}
/** How a step's process ended, in words. */
export function stepEnd(step: Step): string {
  const end = step.end;
  if (!end) return 'running';
  const words: Record<string, string> = { timed_out: 'timed out', cancelled: 'cancelled', lost: 'its machine went away', error: 'could not be started', skipped: 'skipped' };
  const said = end.ended === 'exited' ? `exit code ${end.code}` : end.ended === 'signalled' ? `signal ${end.code}` : words[end.ended] ?? end.ended;
  return step.forgiven ? `${said}, forgiven` : said;
}

/** A reference as people call it: `main`, `v1.0`, `pull/7`. */
export function shortReference(reference: string): string {
  for (const prefix of ['refs/heads/', 'refs/tags/']) if (reference.startsWith(prefix)) return reference.slice(prefix.length);
  return /^refs\/(pull\/[^/]+)\/(head|merge)$/.exec(reference)?.[1] ?? reference;
}
export const runTitle = (run: Run): string => run.name ?? run.workflow_file?.split('/').pop() ?? 'a run';
