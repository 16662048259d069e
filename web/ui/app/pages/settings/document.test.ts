import { expect, test } from "vitest";
import { addFolder, changes } from "./document";

test("lines that changed", () => {
  expect(changes("a\nb\nc", "a\nx\ny\nc")).toEqual([
    { kind: "-", text: "b" }, { kind: "+", text: "x" }, { kind: "+", text: "y" },
  ]);
  expect(changes("a", "a")).toEqual([]);
  expect(changes("a\na", "a")).toEqual([{ kind: "-", text: "a" }]);
});

test("a folder is added to its role", () => {
  const file = JSON.stringify({ roles: [{ name: "A", haystacks: [] }, { name: "B" }] });
  expect(JSON.parse(addFolder(file, "B", "Notes", "/n")).roles[1].haystacks).toEqual([{ name: "Notes", service: "LocalFiles", location: "/n" }]);
  expect(() => addFolder(addFolder(file, "A", "N", "/n"), "A", "N", "/m")).toThrow("already");
  expect(() => addFolder("{}", "A", "N", "/n")).toThrow("no role");
});

test("a folder is added to a file that is one role alone", () => {
  const added = JSON.parse(addFolder('{"name": "Reader", "haystacks": []}', "Reader", "Notes", "/n"));
  expect(added).toEqual({ name: "Reader", haystacks: [{ name: "Notes", service: "LocalFiles", location: "/n" }] });
  expect(() => addFolder("{}", "", "Notes", "/n")).toThrow("no role");
});
