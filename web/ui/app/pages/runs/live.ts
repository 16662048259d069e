// Changes as a server tells of them (server-sent events), also after the connection broke.

import { href } from './server';

/** Calls `heard` for each of these events; while the connection is away it is opened anew, and `heard` is told `again` then. */
export function follow(path: string, names: string[], heard: (name: string, data: string) => void): () => void {
  let source: EventSource | undefined, wait = 1000, stopped = false, timer: ReturnType<typeof setTimeout> | undefined, broken = false;
  const open = (): void => {
    source = new EventSource(href(path), { withCredentials: true });
    source.onopen = () => {
      wait = 1000;
      if (broken) heard('again', '');
      broken = false;
    };
    source.onerror = () => {
      broken = true;
      source?.close();
      if (!stopped) timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, 30_000);
    };
    for (const name of names) source.addEventListener(name, (event) => heard(name, (event as MessageEvent<string>).data));
    source.addEventListener('end', () => { stopped = true; source?.close(); });
  };
  open();
  return () => { stopped = true; clearTimeout(timer); source?.close(); };
}
