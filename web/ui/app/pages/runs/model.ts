// What the runner's API says of runs: the shapes of its OpenAPI document that these pages use.

export type RunState =
  | 'received' | 'parsing' | 'planned' | 'allocating' | 'running'
  | 'succeeded' | 'failed' | 'cancelled' | 'timed_out' | 'lost' | 'refused' | 'ignored';
export type Conclusion = 'success' | 'failure' | 'cancelled' | 'skipped';

export interface StepEnd { ended: string; code?: number }
export interface Step {
  number: number; name: string; end?: StepEnd; forgiven?: boolean; reason?: string;
  started_at: number; ended_at?: number; summary?: string;
}
export interface Job {
  key: string; instance: number; name: string; conclusion?: Conclusion; reason?: string; vm?: string;
  isolation?: string; queued_at: number; started_at?: number; ended_at?: number; end?: string;
  kept_from?: string; outputs?: [string, string][]; steps: Step[];
}
export interface Run {
  id: string; state: RunState; reason?: string; repository: string; event: string; action?: string;
  reference: string; sha: string; actor: string; workflow_file?: string; name?: string; only_job?: string;
  number: number; attempt: number; repeats?: string; repeated_by?: string; repository_url?: string;
  created_at: number; started_at?: number; ended_at?: number; jobs: Job[];
}

export type GraphState = 'skipped' | 'success' | 'cancelled' | 'failure' | 'waiting' | 'running';
export interface GraphCopy { index: number; name: string; state: GraphState; started_at?: number; ended_at?: number; kept_from?: string }
export interface GraphJob {
  key: string; name: string; needs?: string[]; caller?: string; calls?: string; matrix: boolean;
  state: GraphState; copies: GraphCopy[];
}
export interface JobGraph { complete: boolean; jobs: GraphJob[] }

export type LineKind = 'info' | 'out' | 'err' | 'group' | 'endgroup' | 'notice' | 'warning' | 'error';
export interface LogLine { n: number; at: number; job?: string; step?: number; kind: LineKind; text: string }
export interface LogRange { total: number; lines: LogLine[] }
export interface LogSection { job: string; step: number; lines: number; notices: number; warnings: number; errors: number }
export interface LogNote { job: string; step: number; line: number; kind: LineKind; text: string }
export interface LogOverview { lines: number; bytes: number; sections: LogSection[]; notes: LogNote[] }
export interface LogMatch { job: string; step: number; line: number }
export interface LogMatches { matches: LogMatch[]; more: boolean }

export interface Artifact { name: string; bytes: number; at: number }
export interface SeenRepository { repository: string; url?: string; default_branch?: string; branches: string[] }
export interface DispatchInput { name: string; description?: string; kind: string; required: boolean; default?: string; options?: string[] }
export interface StartableWorkflow { file: string; name: string; inputs: DispatchInput[] }
export interface StartableWorkflows { branch: string; sha: string; workflows: StartableWorkflow[]; wrong: string[] }

const ENDED: ReadonlySet<RunState> = new Set(['succeeded', 'failed', 'cancelled', 'timed_out', 'lost', 'refused', 'ignored']);
export const hasEnded = (run: Pick<Run, 'state'>): boolean => ENDED.has(run.state);

/** States that a list can be filtered by, with how they are called. */
export const STATES: [string, string][] = [
  ['active', 'under way'], ['succeeded', 'succeeded'], ['failed', 'failed'], ['cancelled', 'cancelled'],
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
