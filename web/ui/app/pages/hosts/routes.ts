import type { Route } from "../../lib/route";

export const routes: Route[] = [
  { path: "/hosts", title: "VM hosts", load: () => import("./Hosts.svelte"), needs: "runner", nav: { label: "VM hosts", order: 62, keys: "g h" } },
];
