import type { Route } from "../../lib/route";

export const routes: Route[] = [
  { path: "/vms", title: "Machines", load: () => import("./Vms.svelte"), needs: "vm-manager", nav: { label: "Machines", order: 60, keys: "g v" } },
];
