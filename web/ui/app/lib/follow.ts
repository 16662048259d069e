// Server-sent events, read by `fetch`, which knows how this page is signed in; opened anew where the connection broke.
import { ApiError, request, signedIn } from "./api";
import { events } from "./events";

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
        for await (const { event, data } of events(answer)) {
          if (stop.signal.aborted) return;
          heard(event, data);
          if (event === "end") return;
        }
        state(false);
      } catch (error) {
        if (stop.signal.aborted) return;
        state(false, error);
        const status = error instanceof ApiError ? error.status : 0;
        // What is refused or not there does not come by asking again; who signs in later goes on.
        if (status === 401) await signedIn(stop.signal);
        else if (status >= 400 && status < 500) return;
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, 15_000);
    }
  })();
  return () => stop.abort();
}
