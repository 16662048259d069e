// Bootswatch's colours by role, light or dark. A person's own choice wins over the role's.

const sheets = import.meta.glob<string>("../themes/*.css", { query: "?url", import: "default", eager: true });
const named = new Map(Object.entries(sheets).map(([path, address]) => [path.slice(10, -4), address]));

export const THEMES = [...named.keys()];
export type Mode = "auto" | "light" | "dark";

const dark = matchMedia("(prefers-color-scheme: dark)");
const element = document.createElement("link");
element.rel = "stylesheet";
element.id = "theme";

class Theme {
  mode = $state<Mode>((localStorage.getItem("mode") as Mode) || "auto");
  chosen = $state(localStorage.getItem("theme") ?? "");
  ofRole = $state("spacelab");
  name = $derived(named.has(this.chosen) ? this.chosen : this.ofRole);

  apply(): void {
    const isDark = this.mode === "dark" || (this.mode === "auto" && dark.matches);
    document.documentElement.dataset.bsTheme = isDark ? "dark" : "light";
  }

  setMode(mode: Mode): void {
    this.mode = mode;
    localStorage.setItem("mode", mode);
    this.apply();
  }

  choose(name: string): void {
    this.chosen = name;
    if (name) localStorage.setItem("theme", name);
    else localStorage.removeItem("theme");
  }

  load(name: string): void {
    const address = named.get(name) ?? named.get("spacelab");
    if (!address || element.getAttribute("href") === address) return;
    element.href = address;
    if (!element.isConnected) document.head.prepend(element);
    document.documentElement.dataset.theme = name;
  }
}

export const theme = new Theme();
dark.addEventListener("change", () => theme.apply());
theme.apply();
