// Server-sent events of a fetch: EventSource can send neither a body nor a token.

export interface ServerEvent {
  event: string;
  data: string;
}

/** Cuts a stream of text into events; give it each piece as it comes. */
export class EventCutter {
  private rest = "";

  push(text: string): ServerEvent[] {
    this.rest += text.replaceAll("\r\n", "\n");
    const blocks = this.rest.split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => {
      const lines = block.split("\n").filter((line) => line && !line.startsWith(":"));
      if (!lines.length) return [];
      const field = (name: string) =>
        lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""));
      return [{ event: field("event").at(-1) ?? "message", data: field("data").join("\n") }];
    });
  }
}

/** The events of an answer, until it ends or is given up. */
export async function* events(response: Response): AsyncGenerator<ServerEvent> {
  const cutter = new EventCutter();
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* cutter.push(value);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
