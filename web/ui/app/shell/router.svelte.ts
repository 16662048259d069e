// The address bar holds the state of every page: links and Back work as they do everywhere.
import { match, type Parameters, type Route } from "../lib/route";

const found = import.meta.glob<{ routes: Route[] }>("../pages/*/routes.ts", { eager: true });

/** Every page, in the order of the navigation. */
export const routes: Route[] = Object.values(found)
  .flatMap((page) => page.routes)
  .sort((a, b) => (a.nav?.order ?? 1e9) - (b.nav?.order ?? 1e9));

export const BASE = "/ui";

class Router {
  path = $state(here());
  search = $state(location.search);
  hash = $state(location.hash);

  /** The page of the address, with its parameters. */
  page = $derived.by<{ route: Route; parameters: Parameters } | null>(() => {
    for (const route of routes) {
      const parameters = match(route.path, this.path);
      if (parameters) return { route, parameters };
    }
    return null;
  });

  query = $derived(new URLSearchParams(this.search));

  /** Goes to an address of the application: `/runs?state=failed`. */
  go(address: string, { replace = false } = {}): void {
    const target = new URL(BASE + address, location.origin);
    if (target.href !== location.href) {
      history[replace ? "replaceState" : "pushState"](null, "", target);
    }
    this.read();
    if (!replace && !target.hash) window.scrollTo(0, 0);
  }

  /** Changes parameters of the query; empty ones go. Typing replaces the entry of the history. */
  set(changes: Record<string, string | null | undefined>, { replace = true } = {}): void {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value) query.set(name, value);
      else query.delete(name);
    }
    const text = query.toString();
    this.go(`${here()}${text ? `?${text}` : ""}${location.hash}`, { replace });
  }

  read(): void {
    this.path = here();
    this.search = location.search;
    this.hash = location.hash;
  }
}

/** The path below `/ui`; the start page is the search. */
function here(): string {
  const path = location.pathname;
  return path.startsWith(`${BASE}/`) ? path.slice(BASE.length) : "/";
}

export const router = new Router();

/** The address of a page, for links. */
export const link = (address: string): string => BASE + address;

window.addEventListener("popstate", () => router.read());
document.addEventListener("click", (event) => {
  const anchor = (event.target as Element).closest?.("a");
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!anchor || !plain || event.defaultPrevented || anchor.target || anchor.hasAttribute("download")) return;
  const target = new URL(anchor.href, location.href);
  if (target.origin !== location.origin || !target.pathname.startsWith(`${BASE}/`) || /\.json$/.test(target.pathname)) return;
  // A place on this page: the browser scrolls to it and moves the focus.
  if (target.hash && target.pathname === location.pathname && target.search === location.search) return;
  event.preventDefault();
  router.go(target.pathname.slice(BASE.length) + target.search + target.hash);
});
