import { expect, it } from "vitest";
import { Tail } from "./tail";

it("takes colours out, also those that are cut in two, and keeps what steers a terminal visible", () => {
  const tail = new Tail();
  for (const piece of ["a\u001b[1;3", "1mred\u001b", "[0m\r\n", "\u001b[2Jx"]) tail.add(piece);
  expect(tail.text).toBe("ared\n\u001b[2Jx");
});

it("keeps the end of an output without end", () => {
  const tail = new Tail();
  for (let nth = 0; nth < 40; nth++) tail.add(`${nth} ${"x".repeat(64 * 1024)}\n`);
  expect(tail.text.length).toBeLessThanOrEqual(512 * 1024);
  expect(tail.text.endsWith("x\n")).toBe(true);
  expect(tail.dropped + tail.text.length).toBe(40 * (64 * 1024 + 2) + 10 * 1 + 30 * 2);
});
