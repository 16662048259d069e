// Short notes at the edge; one with an action can be undone for ten seconds.

export interface Toast {
  id: number;
  text: string;
  kind: "note" | "error";
  undo?: () => void;
}

const SHOWN_MS = 10_000;
let next = 1;
export const toasts = $state<Toast[]>([]);

export function toast(text: string, options: { kind?: Toast["kind"]; undo?: () => void } = {}): void {
  const id = next++;
  toasts.push({ id, text, kind: options.kind ?? "note", undo: options.undo });
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id: number): void {
  const at = toasts.findIndex((toast) => toast.id === id);
  if (at >= 0) toasts.splice(at, 1);
}

/** Does something after ten seconds unless it is undone; leaving the page does it at once. */
export function later(text: string, act: () => void): void {
  let done = false;
  const once = () => {
    if (done) return;
    done = true;
    removeEventListener("pagehide", once);
    act();
  };
  const timer = setTimeout(once, SHOWN_MS);
  addEventListener("pagehide", once);
  toast(text, {
    undo: () => {
      done = true;
      clearTimeout(timer);
      removeEventListener("pagehide", once);
    },
  });
}
