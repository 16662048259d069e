// Where somebody looks in a run: `#build:3:L120` is line 120 of step 3 of the job `build`.

export interface Place { job: string; step: number; line?: number }

export function readPlace(hash: string): Place | undefined {
  const found = /^#?(.*?):(\d{1,9})(?::L(\d{1,10}))?$/.exec(hash);
  if (!found) return undefined;
  let job: string;
  try { job = decodeURIComponent(found[1] ?? ''); } catch { return undefined; }
  const line = found[3] ? Number(found[3]) : undefined;
  return { job, step: Number(found[2]), ...(line ? { line } : {}) };
}

export function writePlace({ job, step, line }: Place): string {
  // A colon would end the job's name.
  const name = encodeURIComponent(job).replaceAll('%20', '+').replaceAll('+', '%20');
  return `#${name}:${step}${line ? `:L${line}` : ''}`;
}
