// The keys that work now: pages register theirs, `?` shows them all.

import { untrack } from "svelte";

export interface Key {
  /** `/`, `Escape`, `Ctrl+k`, or two pressed one after the other: `g s`. */
  keys: string;
  about: string;
  run: () => void;
  /** Works while somebody types, too. */
  typing?: boolean;
}

let registered = $state<Key[]>([]);
let first = "";
let firstAt = 0;

/** Registers keys until the returned function is called: use it in `$effect`. */
export function keys(added: Key[]): () => void {
  // Whoever registers in an effect does not depend on the others' keys.
  registered = [...added, ...untrack(() => registered)];
  return () => (registered = registered.filter((key) => !added.includes(key)));
}

export const allKeys = (): Key[] => registered;

function name(event: KeyboardEvent): string {
  const control = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  return control + (event.key.length === 1 && control ? event.key.toLowerCase() : event.key);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

window.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const typing = isTyping(event.target) || document.querySelector("dialog[open]") !== null;
  const pressed = name(event);
  const both = Date.now() - firstAt < 1000 ? `${first} ${pressed}` : "";
  const usable = registered.filter((key) => !typing || key.typing);
  const hit = usable.find((key) => key.keys === both) ?? usable.find((key) => key.keys === pressed);
  first = pressed;
  firstAt = Date.now();
  if (!hit) return;
  first = "";
  event.preventDefault();
  hit.run();
});
