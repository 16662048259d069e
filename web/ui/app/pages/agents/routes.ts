import type { Route } from "../../lib/route";

export const routes: Route[] = [
  { path: "/agents", title: "Agents", load: () => import("./Agents.svelte"), needs: "orchestrator", nav: { label: "Agents", order: 70, keys: "g a" } },
  { path: "/agents/runs/:id", title: "Run of an agent", load: () => import("./AgentRun.svelte"), needs: "orchestrator" },
];
