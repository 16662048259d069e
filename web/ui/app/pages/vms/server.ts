// What this page asks the VM manager. The only file here that knows how it is reached.

import type { Health, Image, Stock, Vm } from './model';

/** Below which path of this address the manager's API is. */
const base: string = await fetch('/ui/parts.json', { credentials: 'same-origin' }).then(async (answer) => {
  const known = (await answer.json()) as { parts?: Record<string, { base?: string }> };
  return known.parts?.['vm-manager']?.base ?? '';
}).catch(() => '');

async function request(path: string, options: RequestInit = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(base + path, { credentials: 'same-origin', ...options, headers: { accept: 'application/json', ...options.headers } });
  } catch {
    throw new Error('The VM manager cannot be reached; it is asked again every few seconds.');
  }
  if (answer.ok) return answer;
  const problem = (await answer.json().catch(() => ({}))) as { detail?: string; title?: string };
  throw new Error(problem.detail ?? problem.title ?? `the VM manager answered ${answer.status}`);
}
const json = async <T>(path: string): Promise<T> => (await request(path)).json() as Promise<T>;

/** What to tell a person about a failure. */
export const say = (error: unknown): string => (error instanceof Error ? error.message : 'something went wrong');

export const health = (): Promise<Health> => json('/health');
export const vms = (): Promise<Vm[]> => json('/vms');
export const images = (): Promise<Image[]> => json('/images');
export const stock = (): Promise<Stock[]> => json('/pool');
export const releaseVm = (id: string): Promise<unknown> => request(`/vms/${encodeURIComponent(id)}`, { method: 'DELETE' });
