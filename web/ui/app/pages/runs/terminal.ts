// A terminal in the page: xterm.js, loaded when one is opened, and the WebSocket to a kept VM.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

/** The end of a shell, for people; whether it had been opened. */
export type Ended = (text: string, opened: boolean) => void;

/**
 * The document as xterm.js sees it: style elements whose text goes to a sheet of the page's own.
 * The policy of the pages takes no inline style.
 */
function withoutInlineStyle(): Document {
  const create = (name: string, options?: ElementCreationOptions): HTMLElement => {
    if (name !== "style") return document.createElement(name, options);
    // Nothing of it is shown, and it is no style that the policy would refuse.
    const element = document.createElement("template");
    const sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    Object.defineProperty(element, "textContent", { get: () => "", set: (text: string) => sheet.replaceSync(text) });
    const remove = element.remove.bind(element);
    element.remove = () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
      remove();
    };
    return element;
  };
  return new Proxy(document, {
    get(target, key) {
      if (key === "createElement") return create;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value as (...given: unknown[]) => unknown).bind(target) : value;
    },
  });
}

/** Opens a shell in `place`; gives what closes it. `address` without columns and rows. */
export function openShell(place: HTMLElement, address: URL, ended: Ended): () => void {
  const terminal = new Terminal({ cursorBlink: true, scrollback: 5000, documentOverride: withoutInlineStyle() });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  fit.fit();
  address.searchParams.set("columns", String(terminal.cols));
  address.searchParams.set("rows", String(terminal.rows));
  const token = sessionStorage.getItem("orrery-token");
  const protocols = token ? ["orrery", `bearer.${base64url(token)}`] : ["orrery"];
  const socket = new WebSocket(address, protocols);
  socket.binaryType = "arraybuffer";
  let over = false, opened = false;
  const end = (text: string): void => {
    if (!over) ended(text, opened);
    over = true;
  };
  socket.onopen = () => {
    opened = true;
    terminal.focus();
  };
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data !== "string") terminal.write(new Uint8Array(data));
    else if (data.startsWith('{"dropped"')) terminal.write(`\r\n[${told(data)}]\r\n`);
    else end(told(data));
  };
  socket.onclose = ({ reason }) => end(reason ? `The shell was ended: ${reason}` : "The shell could not be opened, or its connection broke off.");
  const send = (data: string | Uint8Array<ArrayBuffer>): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(data);
  };
  const typed = terminal.onData((text) => send(new TextEncoder().encode(text)));
  const binary = terminal.onBinary((text) => send(Uint8Array.from(text, (one) => one.charCodeAt(0))));
  const resized = terminal.onResize(({ cols, rows }) => send(JSON.stringify({ resize: { columns: cols, rows } })));
  const watch = new ResizeObserver(() => fit.fit());
  watch.observe(place);
  return () => {
    over = true;
    watch.disconnect();
    for (const one of [typed, binary, resized]) one.dispose();
    socket.close();
    terminal.dispose();
  };
}

/** What a text message says, when it is the end. */
export function told(text: string): string {
  const { ended, dropped } = JSON.parse(text) as { ended?: { exit_code?: number | null; reason?: string }; dropped?: number };
  if (dropped !== undefined) return `${dropped} bytes of output came too fast and are gone.`;
  if (typeof ended?.exit_code === "number") return `The shell has ended with exit code ${ended.exit_code}.`;
  return `The shell has ended${ended?.reason ? `: ${ended.reason}` : ""}.`;
}

function base64url(text: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
