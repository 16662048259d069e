import type { Route } from "../../lib/route";

const load = () => import("./Chat.svelte");

export const routes: Route[] = [
  { path: "/chat", title: "Chat", load, needs: "search", nav: { label: "Chat", order: 20, keys: "g c" } },
  { path: "/chat/:id", title: "Chat", load, needs: "search" },
];
