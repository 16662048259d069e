import type { Route } from "../../lib/route";

export const routes: Route[] = [
  { path: "/tests", title: "Tests", load: () => import("./Tests.svelte"), needs: "runner", nav: { label: "Tests", order: 52, keys: "g t" } },
];
