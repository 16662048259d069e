import { expect, it } from "vitest";
import { events } from "./follow";

it("finds whole events and keeps the rest", () => {
  const read = events("event: log\ndata: {\"a\":1}\n\n: alive\n\nevent: end\ndata: {}\n\nevent: lo");
  expect(read.found).toEqual([{ name: "log", data: '{"a":1}' }, { name: "end", data: "{}" }]);
  expect(read.rest).toBe("event: lo");
});
