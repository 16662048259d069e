import { api, isAbort } from "../../lib/api";
import { chosenRole } from "../../lib/role";
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

interface Found { results: { id: string; title: string; path?: string; url: string }[] }

registerCommands({
  needs: "search",
  name: "Documents",
  find: async (text, signal) => {
    // The role in force: that of the page, else the one chosen last, which may be gone.
    const address = router.query.get("role");
    const asked = (role: string | null) =>
      api<Found>("search", "/api/documents/search", { json: { search_term: text, limit: 6, ...(role && { role }) }, signal });
    const chosen = address ?? chosenRole();
    let role = chosen;
    const found = await asked(role).catch((error) => {
      if (isAbort(error) || address || !chosen) throw error;
      role = null;
      return asked(role);
    });
    return found.results.map((one) => ({
      title: one.title,
      about: one.path ?? one.url,
      run: () => router.go(`/documents/${segments(one.id)}?${new URLSearchParams({ q: text, ...(role && { role }) })}`),
    }));
  },
});
