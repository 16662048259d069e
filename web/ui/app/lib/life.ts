import { onDestroy } from "svelte";

/** Whether the component that this is called in is gone: an answer that comes later is for nobody. */
export function life(): { readonly over: boolean } {
  const it = { over: false };
  onDestroy(() => (it.over = true));
  return it;
}
