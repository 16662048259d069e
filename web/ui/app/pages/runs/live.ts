// Changes as a server tells of them (server-sent events), also after the connection broke. Read by `fetch`, which knows how
// this page is signed in.
import { ApiError, request } from "../../lib/api";

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
    return data.length > 0 ? [{ name, data: data.join("\n") }] : [];
  });
  return { found, rest };
}

/** Calls `heard` for each event until the returned function is called or the server says `end`. While the connection is away it
 * is opened anew, and `heard` is told `again` then. */
export function follow(part: string, path: string, heard: (name: string) => void): () => void {
  const stop = new AbortController();
  let wait = 1000;
  let broken = false;
  void (async () => {
    while (!stop.signal.aborted) {
      try {
        const answer = await request(part, path, { headers: { accept: "text/event-stream" }, signal: stop.signal });
        if (broken) heard("again");
        broken = false;
        wait = 1000;
        const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          const read = events(text + value);
          text = read.rest;
          for (const event of read.found) {
            heard(event.name);
            if (event.name === "end") return;
          }
        }
      } catch (error) {
        // What is not there does not come back.
        if (stop.signal.aborted || (error instanceof ApiError && error.status === 404)) return;
      }
      broken = true;
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, 30_000);
    }
  })();
  return () => stop.abort();
}
