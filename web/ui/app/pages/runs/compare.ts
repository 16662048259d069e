// What is different between a run and the last one of its workflow and branch that went well.

import { jobState, stepState, type GraphState, type Job, type Run } from './model';

export interface Difference {
  job: string; step?: string; place?: { job: string; step: number };
  was?: GraphState; now?: GraphState;
  /** Milliseconds; none while it runs or where it did not. */
  took?: number; tookThen?: number;
  why: 'state' | 'time' | 'new' | 'gone';
}

const took = (part: { started_at?: number; ended_at?: number }): number | undefined =>
  part.started_at !== undefined && part.ended_at !== undefined ? part.ended_at - part.started_at : undefined;

/** Times differ when one is at least half as long again and two seconds longer. */
function timeDiffers(now?: number, then?: number): boolean {
  if (now === undefined || then === undefined) return false;
  const [less, more] = [Math.min(now, then), Math.max(now, then)];
  return more - less >= 2000 && more >= less * 1.5;
}

function steps(job: Job, then: Job): Difference[] {
  const found: Difference[] = [];
  // By name, and among those of one name by their order.
  const seen = new Map<string, number>();
  for (const step of job.steps) {
    const nth = seen.get(step.name) ?? 0;
    seen.set(step.name, nth + 1);
    const former = then.steps.filter((one) => one.name === step.name)[nth];
    const place = { job: job.name, step: step.number };
    const now = stepState(step), took1 = took(step);
    if (!former) { found.push({ job: job.name, step: step.name, place, now, took: took1, why: 'new' }); continue; }
    const was = stepState(former), tookThen = took(former);
    if (was !== now) found.push({ job: job.name, step: step.name, place, was, now, took: took1, tookThen, why: 'state' });
    else if (timeDiffers(took1, tookThen)) found.push({ job: job.name, step: step.name, place, was, now, took: took1, tookThen, why: 'time' });
  }
  for (const former of then.steps) {
    if (!job.steps.some((step) => step.name === former.name)) found.push({ job: job.name, step: former.name, was: stepState(former), tookThen: took(former), why: 'gone' });
  }
  return found;
}

export function compare(run: Run, green: Run): Difference[] {
  const found: Difference[] = [];
  for (const job of run.jobs) {
    const then = green.jobs.find((one) => one.name === job.name);
    const now = jobState(job), place = { job: job.name, step: job.steps[0]?.number ?? 0 };
    if (!then) { found.push({ job: job.name, place, now, took: took(job), why: 'new' }); continue; }
    const was = jobState(then);
    if (was !== now) found.push({ job: job.name, place, was, now, took: took(job), tookThen: took(then), why: 'state' });
    else if (timeDiffers(took(job), took(then))) found.push({ job: job.name, place, was, now, took: took(job), tookThen: took(then), why: 'time' });
    if (job.kept_from === undefined) found.push(...steps(job, then));
  }
  for (const then of green.jobs) {
    if (!run.jobs.some((job) => job.name === then.name)) found.push({ job: then.name, was: jobState(then), tookThen: took(then), why: 'gone' });
  }
  return found;
}
