import type { Route } from "../../lib/route";

export const routes: Route[] = [
  { path: "/documents/*id", title: "Document", load: () => import("./Document.svelte"), needs: "search" },
];
