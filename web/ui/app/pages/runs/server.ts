// What these pages ask the runner. The only file here that knows how a server is reached.

import type { Artifact, JobGraph, LogMatches, LogOverview, LogRange, Run, SeenRepository, StartableWorkflows } from './model';
import { nextCursor, writeFilters, type Filters } from './filters';

/** Below which path of this address the runner's API is. */
const base: string = await fetch('/ui/parts.json', { credentials: 'same-origin' }).then(async (answer) => {
  const known = (await answer.json()) as { parts?: Record<string, { base?: string }> };
  return known.parts?.runner?.base ?? '';
}).catch(() => '');

/** The address of something of the runner, or of a page of the application. */
export const href = (path: string, page = false): string => (page ? path : base + path);

/** An answer that is none of what was asked for. */
export class ServerError extends Error {
  constructor(message: string, readonly status: number) { super(message); }
}

async function request(path: string, options: RequestInit = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(href(path), { credentials: 'same-origin', ...options, headers: { accept: 'application/json', ...options.headers } });
  } catch {
    throw new ServerError('the server cannot be reached; it is tried again as soon as something changes', 0);
  }
  if (answer.ok) return answer;
  const problem = (await answer.json().catch(() => ({}))) as { detail?: string; title?: string };
  const said = problem.detail ?? problem.title ?? `the server answered ${answer.status}`;
  throw new ServerError(answer.status === 401 ? `${said}; sign in again` : said, answer.status);
}
const json = async <T>(path: string, options?: RequestInit): Promise<T> => (await request(path, options)).json() as Promise<T>;
const of = (run: string): string => `/runs/${encodeURIComponent(run)}`;

/** What to tell a person about a failure. */
export const say = (error: unknown): string => (error instanceof Error ? error.message : 'something went wrong');

/** Opens a page of the application as a click on a link does. */
export function goTo(path: string): void {
  const link = document.createElement('a');
  link.href = href(path, true);
  link.hidden = true;
  document.body.append(link);
  link.click();
  link.remove();
}

export async function listRuns(filters: Filters, limit: number, cursor?: string): Promise<{ runs: Run[]; next?: string }> {
  const query = new URLSearchParams(writeFilters(filters));
  query.set('limit', String(limit));
  if (cursor) query.set('cursor', cursor);
  const answer = await request(`/runs?${query}`);
  return { runs: (await answer.json()) as Run[], next: nextCursor(answer.headers.get('link')) };
}
export const repositories = (): Promise<SeenRepository[]> => json('/repositories');
export const getRun = (run: string): Promise<Run> => json(of(run));
export const jobGraph = (run: string): Promise<JobGraph> => json(`${of(run)}/graph`);
export const artifacts = (run: string): Promise<Artifact[]> => json(`${of(run)}/artifacts`);
export const logOverview = (run: string): Promise<LogOverview> => json(`${of(run)}/log/overview`);
export const logLines = (run: string, job: string, step: number, from: number, lines: number): Promise<LogRange> =>
  json(`${of(run)}/log/lines?${new URLSearchParams({ job, step: String(step), from: String(from), lines: String(lines) })}`);
export const logSearch = (run: string, job: string, step: number, q: string): Promise<LogMatches> =>
  json(`${of(run)}/log/search?${new URLSearchParams({ job, step: String(step), q })}`);

/** The last run of the same workflow and branch that went well, if there is one. */
export async function lastGreen(run: string): Promise<Run | null> {
  try {
    return await json<Run>(`${of(run)}/last-green`);
  } catch (error) {
    if (error instanceof ServerError && error.status === 404) return null;
    throw error;
  }
}
/** Gives the new run's id. */
export const rerun = async (run: string, failedOnly: boolean): Promise<string> =>
  (await json<{ run: string }>(`${of(run)}/rerun${failedOnly ? '?failed=true' : ''}`, { method: 'POST' })).run;
export const cancelRun = (run: string): Promise<unknown> => request(`${of(run)}/cancel`, { method: 'POST' });
export const startable = (repository: string, branch: string): Promise<StartableWorkflows> =>
  json(`/workflows?${new URLSearchParams(branch ? { repository, branch } : { repository })}`);
export const dispatch = async (asked: { repository: string; branch?: string; workflow: string; inputs: Record<string, string> }): Promise<string> =>
  (await json<{ run: string }>('/runs/dispatch', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(asked) })).run;
