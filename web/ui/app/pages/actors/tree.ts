// The tree of actors as rows, and what changed in it from one look to the next.

export interface Actor {
  name: string;
  kind: "worker" | "supervisor";
  restart: string;
  state: string;
  incarnation: number;
  restarts: number;
  mailbox: number;
  capacity: number;
  last_exit: unknown;
  last_exit_at_ms: number | null;
  children: Actor[];
}

export interface Row {
  path: string;
  level: number;
  actor: Actor;
  /** Failures anywhere below a closed row are not hidden. */
  below: { restarts: number; down: number; waiting: number };
  open: boolean;
  position: number;
  siblings: number;
}

const DOWN = new Set(["backing_off", "parked"]);

/** How many restarts and failures there are below an actor. */
export function below(actor: Actor): Row["below"] {
  const sum = { restarts: 0, down: 0, waiting: 0 };
  for (const child of actor.children) {
    const inner = below(child);
    sum.restarts += child.restarts + inner.restarts;
    sum.down += Number(DOWN.has(child.state)) + inner.down;
    sum.waiting += child.mailbox + inner.waiting;
  }
  return sum;
}

/** The rows that are seen while `closed` are closed; with `filter`, those whose path holds it and what is above them. */
export function rows(root: Actor, closed: ReadonlySet<string>, filter = ""): Row[] {
  const wanted = filter.toLowerCase();
  const fits = (actor: Actor, path: string): boolean =>
    path.toLowerCase().includes(wanted) || actor.children.some((child) => fits(child, `${path}/${child.name}`));
  const found: Row[] = [];
  const add = (actor: Actor, path: string, level: number, position: number, siblings: number): void => {
    const open = wanted !== "" || !closed.has(path);
    found.push({ path, level, actor, below: below(actor), open, position, siblings });
    if (!open) return;
    const shown = actor.children.filter((child) => !wanted || fits(child, `${path}/${child.name}`));
    shown.forEach((child, at) => add(child, `${path}/${child.name}`, level + 1, at + 1, shown.length));
  };
  if (!wanted || fits(root, root.name)) add(root, root.name, 1, 1, 1);
  return found;
}

/** How the last incarnation ended, in words: `panicked: …`. */
export function ending(exit: unknown): string | null {
  if (exit === null || exit === undefined) return null;
  if (typeof exit === "string") return exit.replaceAll("_", " ");
  if (typeof exit !== "object") return String(exit);
  const entries = Object.entries(exit as Record<string, unknown>);
  const kind = entries.find(([name]) => name === "kind" || name === "reason" || name === "type");
  const rest = entries.filter((entry) => entry !== kind);
  const said = rest.map(([name, value]) => {
    const text = typeof value === "object" && value !== null ? ending(value) : String(value);
    return kind ? text : `${name.replaceAll("_", " ")}: ${text}`;
  });
  return [kind && String(kind[1]).replaceAll("_", " "), ...said].filter(Boolean).join(", ");
}

export interface Change {
  path: string;
  text: string;
  bad: boolean;
}

/** What happened between two looks: restarts, failures, recoveries. */
export function changes(before: Actor | null, now: Actor, path = now.name): Change[] {
  const found: Change[] = [];
  if (before) {
    if (now.incarnation > before.incarnation && before.incarnation > 0) {
      found.push({ path, text: `was started again (incarnation ${now.incarnation})${now.last_exit ? `; before: ${ending(now.last_exit)}` : ""}`, bad: true });
    }
    if (now.state !== before.state && DOWN.has(now.state)) {
      found.push({ path, text: now.state === "parked" ? "stays down: it failed too often" : `failed: ${ending(now.last_exit) ?? "no reason"}; it is started again soon`, bad: true });
    }
    if (DOWN.has(before.state) && now.state === "running") found.push({ path, text: "runs again", bad: false });
  }
  const old = new Map((before?.children ?? []).map((child) => [child.name, child]));
  for (const child of now.children) found.push(...changes(old.get(child.name) ?? null, child, `${path}/${child.name}`));
  return found;
}
