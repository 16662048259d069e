// Server-sent events, read by `fetch`, which knows how this page is signed in; opened anew where the connection broke.
import { ApiError, request } from "./api";

/** The events in a text, and what is left of it for the next piece. */
export function events(text: string): { found: { name: string; data: string }[]; rest: string } {
  const blocks = text.split("\n\n");
  const rest = blocks.pop() ?? "";
  const found = blocks.flatMap((block) => {
    let name = "message";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("event: ")) name = line.slice(7);
      else if (line.startsWith("data: ")) data.push(line.slice(6));
    }
    return data.length ? [{ name, data: data.join("\n") }] : [];
  });
  return { found, rest };
}

/** Calls `heard` with each event until the returned function is called or the server says `end`. `state` hears whether the
 * connection holds; before a connection is opened anew, `heard` gets `again`. */
export function followEvents(
  part: string,
  path: string,
  heard: (name: string, data: string) => void,
  state: (live: boolean, error?: unknown) => void = () => {},
): () => void {
  const stop = new AbortController();
  void (async () => {
    let wait = 500;
    for (let first = true; !stop.signal.aborted; first = false) {
      try {
        const answer = await request(part, path, { headers: { accept: "text/event-stream" }, signal: stop.signal });
        if (!first) heard("again", "");
        state(true);
        wait = 500;
        const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
        for (let text = ""; ; ) {
          const { done, value } = await reader.read();
          if (done) break;
          const read = events(text + value);
          text = read.rest;
          for (const event of read.found) {
            if (stop.signal.aborted) return;
            heard(event.name, event.data);
            if (event.name === "end") return;
          }
        }
        state(false);
      } catch (error) {
        if (stop.signal.aborted) return;
        state(false, error);
        if (error instanceof ApiError && error.status >= 400 && error.status < 500) return;
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, 15_000);
    }
  })();
  return () => stop.abort();
}
