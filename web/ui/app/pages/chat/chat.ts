// What the chat page asks and is answered.
import { api, ApiError, request } from "../../lib/api";
import { events } from "../../lib/events";

export interface Citation {
  number: number;
  id: string;
  title: string;
  url: string;
  cited: boolean;
}

export interface Message {
  role: "user" | "assistant";
  content: string;
  at?: string;
  citations?: Citation[];
  /** Who wrote an answer, while it is known. */
  by?: string;
  truncated?: boolean;
}

export interface Head {
  id: string;
  title: string;
  role: string;
  updated_at: string;
  messages: number;
}

interface Answer {
  message: string;
  model: string | null;
  provider: string;
  citations: Citation[];
  conversation_id: string;
  truncated: boolean;
}

export const list = async () => (await api<{ conversations: Head[] }>("search", "/api/conversations")).conversations;
export const read = (id: string) => api<{ head: Head; messages: Message[] }>("search", `/api/conversations/${encodeURIComponent(id)}`);
export const forget = (id: string) => api<void>("search", `/api/conversations/${encodeURIComponent(id)}`, { method: "DELETE" });

export interface Heard {
  start: (by: string) => void;
  delta: (text: string) => void;
  done: (answer: Message, conversation: string) => void;
}

/** Sends a message and passes on what comes, until the answer has ended. */
export async function say(
  asked: { message: string; role: string; conversation: string },
  heard: Heard,
  signal: AbortSignal,
): Promise<void> {
  const body = { message: asked.message, stream: true, ...(asked.role && { role: asked.role }), ...(asked.conversation && { conversation_id: asked.conversation }) };
  const response = await request("search", "/api/chat", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  for await (const { event, data } of events(response)) {
    const value = JSON.parse(data);
    if (event === "start") heard.start(value.model ?? value.provider);
    else if (event === "delta") heard.delta(value.text);
    else if (event === "error") throw new ApiError(value.status ?? 0, value.detail ?? value.title ?? "the answer failed", value.type ?? null);
    else if (event === "done") {
      const answer = value as Answer;
      const by = answer.model ?? answer.provider;
      heard.done({ role: "assistant", content: answer.message, citations: answer.citations, by, truncated: answer.truncated }, answer.conversation_id);
      return;
    }
  }
  throw new ApiError(0, "the answer broke off; ask again");
}

/** A conversation as Markdown, for a file. */
export function markdown(title: string, messages: Message[]): string {
  const parts = messages.map((message) => {
    const who = message.role === "user" ? "**You**" : "**Answer**";
    const cited = (message.citations ?? []).filter((one) => one.cited);
    const notes = cited.map((one) => `- [${one.number}] ${one.title} <${one.url}>`).join("\n");
    return `${who}\n\n${message.content}${notes ? `\n\n${notes}` : ""}`;
  });
  return `# ${title}\n\n${parts.join("\n\n---\n\n")}\n`;
}
