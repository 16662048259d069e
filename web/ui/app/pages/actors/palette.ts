// Actors in the palette, by name.

export interface Actor {
  name: string;
  state: string;
  restarts: number;
  children: Actor[];
}

/** Actors whose name or path holds the text: names that begin so first, then the higher ones. */
export function named(root: Actor, text: string, most = 8): { path: string; actor: Actor }[] {
  const typed = text.trim().toLowerCase();
  const found: { path: string; actor: Actor; rank: number }[] = [];
  const look = (actor: Actor, path: string): void => {
    const name = actor.name.toLowerCase();
    const rank = name.startsWith(typed) ? 0 : name.includes(typed) ? 1 : path.toLowerCase().includes(typed) ? 2 : 3;
    if (rank < 3) found.push({ path, actor, rank });
    for (const child of actor.children) look(child, `${path}/${child.name}`);
  };
  look(root, root.name);
  return found.sort((a, b) => a.rank - b.rank || a.path.length - b.path.length).slice(0, most).map(({ path, actor }) => ({ path, actor }));
}
