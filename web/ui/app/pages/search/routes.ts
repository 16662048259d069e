import { api } from "../../lib/api";
import { chosenRole, roleInForce } from "../../lib/role";
import { segments, type Route } from "../../lib/route";
import { registerCommands } from "../../shell/commands.svelte";
import { router } from "../../shell/router.svelte";
import { rolesToAsk, together, type Found, type InRole } from "./palette";
import { roles } from "./search";

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
    const ask = async (role: string | null): Promise<InRole> => {
      const json = { search_term: text, limit: 6, ...(role && { role }) };
      const found = await api<{ results: Found[] }>("search", "/api/documents/search", { json, signal });
      return { role, results: found.results };
    };
    const address = router.query.get("role");
    const known = address ? null : await roles();
    const names = known?.roles.map((one) => one.name) ?? [];
    const asked = rolesToAsk(names, address, roleInForce(known, address, chosenRole()));
    return together(await Promise.all(asked.map(ask))).map(({ role, one, about }) => ({
      title: one.title,
      about,
      run: () => router.go(`/documents/${segments(one.id)}?${new URLSearchParams({ q: text, ...(role && { role }) })}`),
    }));
  },
});
