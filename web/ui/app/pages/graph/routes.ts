import type { Route } from "../../lib/route";

export const routes: Route[] = [
  { path: "/graph", title: "Graph", load: () => import("./Graph.svelte"), needs: "search", nav: { label: "Graph", order: 30, keys: "g g" } },
];
