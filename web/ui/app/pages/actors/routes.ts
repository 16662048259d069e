import { api, parts } from "../../lib/api";
import type { Route } from "../../lib/route";
import { registerCommands } from "../../shell/commands.svelte";
import { router } from "../../shell/router.svelte";
import { named, type Actor } from "./palette";

export const routes: Route[] = [
  { path: "/actors", title: "Actors", load: () => import("./Actors.svelte"), nav: { label: "Actors", order: 80, keys: "g o" } },
];

const FRESH_MS = 3000;
let kept: { at: number; tree: Promise<Actor> } | null = null;

/** The tree of this process; every part shows all of it. */
async function tree(): Promise<Actor> {
  const served = Object.entries((await parts()).parts).sort(([, a], [, b]) => a.base.length - b.base.length)[0]?.[0];
  return api<Actor>(served ?? "", "/admin/actors");
}

registerCommands({
  name: "Actors",
  find: async (text) => {
    if (!kept || Date.now() - kept.at > FRESH_MS) {
      const mine = (kept = { at: Date.now(), tree: tree() });
      mine.tree.catch(() => { if (kept === mine) kept = null; });
    }
    return named(await kept.tree, text).map(({ path, actor }) => ({
      title: path,
      about: actor.restarts ? `${actor.state}, ${actor.restarts} restarts` : actor.state,
      run: () => router.go(`/actors?${new URLSearchParams({ q: path.split("/").slice(1).join("/") || path })}`),
    }));
  },
});
