import { api } from "../../lib/api";
import type { Route } from "../../lib/route";
import { registerCommands } from "../../shell/commands.svelte";
import { router } from "../../shell/router.svelte";
import { found, type Agent } from "./palette";

export const routes: Route[] = [
  { path: "/agents", title: "Agents", load: () => import("./Agents.svelte"), needs: "orchestrator", nav: { label: "Agents", order: 70, keys: "g a" } },
  { path: "/agents/runs/:id", title: "Run of an agent", load: () => import("./AgentRun.svelte"), needs: "orchestrator" },
];

registerCommands({
  needs: "orchestrator",
  name: "Agents",
  find: async (text, signal) => {
    const { agents } = await api<{ agents: Agent[] }>("orchestrator", "/admin/agents", { signal });
    return found(agents, text).map((one) => ({
      title: `${one.project}/${one.agent}`,
      about: one.running ? `${one.running} running` : one.description || "agent",
      run: () => router.go(`/agents?${new URLSearchParams({ project: one.project, agent: one.agent })}`),
    }));
  },
});
