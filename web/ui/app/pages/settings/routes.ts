import type { Route } from "../../lib/route";

export const routes: Route[] = [
  {
    path: "/settings",
    title: "Sources and settings",
    load: () => import("./Settings.svelte"),
    needs: "search",
    nav: { label: "Settings", order: 40, keys: "g e" },
  },
];
