import { expect, test } from "vitest";
import { EventCutter } from "./events";

test("events are cut wherever the pieces end", () => {
  const text = "event: start\ndata: {\"a\":1}\n\n: waiting\n\ndata: one\ndata: two\r\n\r\nevent: done\ndata: x";
  for (let size = 1; size < text.length; size++) {
    const cutter = new EventCutter();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...cutter.push(text.slice(at, at + size)));
    const known = found.slice(0, 1);
    expect(known).toEqual([{ event: "start", data: '{"a":1}' }]);
    expect(found.length).toBeLessThanOrEqual(2);
  }
  expect(new EventCutter().push("data: one\ndata: two\n\n")).toEqual([{ event: "message", data: "one\ntwo" }]);
});
