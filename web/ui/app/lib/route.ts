// Addresses: patterns with `:name` (one segment) and a last `*name` (the rest), and their parameters.
import type { Component } from "svelte";

export type Parameters = Record<string, string>;

export interface Route {
  /** Below `/ui`: `/runs/:id`, `/documents/*id`. */
  path: string;
  /** Shown in the window's title and the palette. */
  title: string;
  /** Loads the page when it is opened for the first time. */
  load: () => Promise<{ default: Component<{ parameters: Parameters }> | Component }>;
  /** The part of the platform without which there is no such page. */
  needs?: string;
  /** An entry of the navigation; `keys` are pressed one after the other. */
  nav?: { label: string; order: number; keys: string };
}

/** The parameters of a path that fits, else nothing. */
export function match(pattern: string, path: string): Parameters | null {
  const wanted = pattern.split("/").filter(Boolean);
  const given = path.split("/").filter(Boolean);
  const found: Parameters = {};
  for (const [at, part] of wanted.entries()) {
    if (part.startsWith("*")) {
      if (given.length <= at) return null;
      found[part.slice(1)] = given.slice(at).map(decoded).join("/");
      return found;
    }
    const here = given[at];
    if (here === undefined) return null;
    if (part.startsWith(":")) found[part.slice(1)] = decoded(here);
    else if (part !== here) return null;
  }
  return wanted.length === given.length ? found : null;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** An id that may hold slashes, as the rest of an address. */
export function segments(id: string): string {
  return id.split("/").map(encodeURIComponent).join("/");
}
