import type { Route } from "../../lib/route";
import { visible } from "../../lib/text";
import { registerCommands } from "../../shell/commands.svelte";
import { router } from "../../shell/router.svelte";
import { theme, THEMES, type Mode } from "../../shell/theme.svelte";
import { health } from "../search/search";
import { fitting } from "./palette";

export const routes: Route[] = [
  {
    path: "/settings",
    title: "Sources and settings",
    load: () => import("./Settings.svelte"),
    needs: "search",
    nav: { label: "Settings", order: 40, keys: "g e" },
  },
];

registerCommands({
  needs: "search",
  name: "Sources",
  find: async (text) => {
    const { sources } = await health();
    const listed = sources.map((source) => ({
      title: source.name,
      about: visible(`${source.service} of ${source.role}, ${source.state}`),
      words: `source ${source.role} ${source.service}`,
      run: () => router.go("/settings"),
    }));
    return fitting(listed, text);
  },
});

const MODES: [Mode, string][] = [["light", "Light"], ["dark", "Dark"], ["auto", "As the system is: light or dark"]];

registerCommands({
  name: "Settings",
  find: (text) =>
    fitting(
      [
        ...MODES.map(([mode, title]) => ({ title, about: "setting", words: "mode colours theme", run: () => theme.setMode(mode) })),
        { title: "Theme of the role", about: "setting", words: "colours", run: () => theme.choose("") },
        ...THEMES.map((name) => ({ title: `Theme ${name}`, about: "setting", words: "colours", run: () => theme.choose(name) })),
        { title: "Editor that opens files", about: "setting", words: "vscode zed jetbrains emacs link", run: () => router.go("/settings#editor") },
      ],
      text,
    ),
});
