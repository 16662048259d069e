import type { Route } from "../../lib/route";

export const routes: Route[] = [
  { path: "/actors", title: "Actors", load: () => import("./Actors.svelte"), nav: { label: "Actors", order: 80, keys: "g o" } },
];
