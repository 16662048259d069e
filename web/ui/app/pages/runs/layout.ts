// Where the jobs of a run stand in its picture: columns by what they need, each job as near as can be to what it needs.

import type { GraphJob } from './model';

export const NODE = { width: 190, height: 46, column: 250, row: 62, margin: 12 };
export interface Placed { job: GraphJob; column: number; x: number; y: number }
export interface Edge { from: string; to: string; path: string }
export interface Layout { nodes: Placed[]; edges: Edge[]; width: number; height: number }

/** Keys that a job waits for: what it needs, and what the job that calls its workflow needs. */
function before(job: GraphJob, jobs: Map<string, GraphJob>): string[] {
  const needs = (job.needs ?? []).filter((key) => jobs.has(key));
  return needs.length === 0 && job.caller && jobs.has(job.caller) ? [job.caller] : needs;
}

export function layout(all: GraphJob[]): Layout {
  const jobs = new Map(all.map((job) => [job.key, job]));
  const columns = new Map<string, number>();
  const under = (job: GraphJob): GraphJob[] => all.filter((one) => one.caller === job.key);
  // A job that needs one that calls a workflow stands behind all of that workflow.
  const last = (key: string, seen: Set<string>): number => {
    const job = jobs.get(key);
    if (!job || seen.has(key)) return 0;
    const inner = under(job).map((one) => last(one.key, new Set(seen).add(key)));
    return Math.max(columnOf(key, new Set(seen)), ...inner);
  };
  const columnOf = (key: string, seen: Set<string>): number => {
    const known = columns.get(key);
    if (known !== undefined) return known;
    const job = jobs.get(key);
    // Needs have no circles; what a server says is not relied on.
    if (!job || seen.has(key)) return 0;
    seen.add(key);
    const waits = before(job, jobs);
    const column = waits.length === 0 ? 0 : 1 + Math.max(...waits.map((need) => (need === job.caller ? columnOf(need, seen) : last(need, seen))));
    columns.set(key, column);
    return column;
  };
  for (const job of all) columnOf(job.key, new Set());

  const rows = new Map<string, number>();
  const used = new Map<number, number>();
  const order = all.map((job, index) => ({ job, index, column: columns.get(job.key) ?? 0 })).sort((a, b) => a.column - b.column || a.index - b.index);
  const wished = ({ job }: { job: GraphJob }): number => {
    const at = before(job, jobs).map((need) => rows.get(need) ?? 0);
    return at.length === 0 ? 0 : at.reduce((sum, row) => sum + row, 0) / at.length;
  };
  for (let column = 0; order.some((one) => one.column === column); column++) {
    const here = order.filter((one) => one.column === column).sort((a, b) => wished(a) - wished(b) || a.index - b.index);
    here.forEach(({ job }, row) => rows.set(job.key, row));
    used.set(column, here.length);
  }
  const most = Math.max(1, ...used.values());
  const nodes = order.map(({ job, column }) => {
    // Columns are centred on each other.
    const shift = (most - (used.get(column) ?? 0)) / 2;
    return { job, column, x: NODE.margin + column * NODE.column, y: NODE.margin + ((rows.get(job.key) ?? 0) + shift) * NODE.row };
  });
  const places = new Map(nodes.map((node) => [node.job.key, node]));
  const edges = nodes.flatMap((to) =>
    before(to.job, jobs).flatMap((need): Edge[] => {
      const from = places.get(need);
      if (!from || from.column >= to.column) return [];
      const [x1, y1, x2, y2] = [from.x + NODE.width, from.y + NODE.height / 2, to.x, to.y + NODE.height / 2];
      const bend = x1 + (x2 - x1) / 2;
      return [{ from: need, to: to.job.key, path: `M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}` }];
    }),
  );
  const width = 2 * NODE.margin + (used.size - 1) * NODE.column + NODE.width;
  return { nodes, edges, width: Math.max(width, NODE.width + 2 * NODE.margin), height: 2 * NODE.margin + (most - 1) * NODE.row + NODE.height };
}
