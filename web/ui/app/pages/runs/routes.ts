import type { Route } from "../../lib/route";
import { api } from "../../lib/api";
import { visible } from "../../lib/text";
import { registerCommands } from "../../shell/commands.svelte";
import { router } from "../../shell/router.svelte";
import { runTitle, shortReference, stateWord, type Run } from "./model";

export const routes: Route[] = [
  { path: "/runs", title: "Runs", load: () => import("./Runs.svelte"), needs: "runner", nav: { label: "Runs", order: 50, keys: "g r" } },
  { path: "/runs/:id", title: "Run", load: () => import("./Run.svelte"), needs: "runner" },
];

registerCommands({
  needs: "runner",
  name: "Runs",
  find: async (text, signal) => {
    const query = new URLSearchParams({ limit: "6", ...(text.trim() ? { text } : {}) });
    const found = await api<Run[]>("runner", `/runs?${query}`, { signal });
    return found.map((run) => ({
      title: `${visible(runTitle(run))} #${run.number}`,
      about: visible(`${stateWord(run.state)}, ${run.repository}, ${shortReference(run.reference)}`),
      run: () => router.go(`/runs/${run.id}`),
    }));
  },
});
