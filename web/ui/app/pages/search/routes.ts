import type { Route } from "../../lib/route";

export const routes: Route[] = [
  {
    path: "/search",
    title: "Search",
    load: () => import("./Search.svelte"),
    needs: "search",
    nav: { label: "Search", order: 10, keys: "g s" },
  },
];
