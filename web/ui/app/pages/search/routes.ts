import { api } from "../../lib/api";
import { segments, type Route } from "../../lib/route";
import { registerCommands } from "../../shell/commands.svelte";
import { router } from "../../shell/router.svelte";

export const routes: Route[] = [
  {
    path: "/search",
    title: "Search",
    load: () => import("./Search.svelte"),
    needs: "search",
    nav: { label: "Search", order: 10, keys: "g s" },
  },
];

registerCommands({
  needs: "search",
  name: "Documents",
  find: async (text, signal) => {
    const found = await api<{ results: { id: string; title: string; path?: string; url: string }[] }>("search", "/api/documents/search", {
      json: { search_term: text, limit: 6 },
      signal,
    });
    return found.results.map((one) => ({
      title: one.title,
      about: one.path ?? one.url,
      run: () => router.go(`/documents/${segments(one.id)}?${new URLSearchParams({ q: text })}`),
    }));
  },
});
