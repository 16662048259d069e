import type { Route } from "../../lib/route";

export const routes: Route[] = [
  { path: "/api", title: "API of the servers", load: () => import("./Api.svelte"), nav: { label: "API", order: 90, keys: "g i" } },
];
