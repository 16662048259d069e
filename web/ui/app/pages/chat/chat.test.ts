import { expect, test } from "vitest";
import { markdown } from "./chat";

test("a conversation as Markdown names what was cited", () => {
  const text = markdown("T", [
    { role: "user", content: "why?" },
    {
      role: "assistant", content: "because [1]",
      citations: [
        { number: 1, id: "a", title: "A", url: "file:///a", cited: true },
        { number: 2, id: "b", title: "B", url: "file:///b", cited: false },
      ],
    },
  ]);
  expect(text).toBe("# T\n\n**You**\n\nwhy?\n\n---\n\n**Answer**\n\nbecause [1]\n\n- [1] A <file:///a>\n");
});
