import { expect, test } from "vitest";
import { MOST_ROLES, rolesToAsk, together } from "./palette";

test("i16 the role of the address is asked alone, else all of them, the one in force first", () => {
  expect(rolesToAsk(["a", "b"], "c", "b")).toEqual(["c"]);
  expect(rolesToAsk(["a", "b", "c"], null, "b")).toEqual(["b", "a", "c"]);
  expect(rolesToAsk(["a", "b"], null, "gone")).toEqual(["a", "b"]);
  expect(rolesToAsk(["a"], null, "a")).toEqual([null]);
  expect(rolesToAsk(Array.from({ length: 20 }, (_, at) => `${at}`), null, null)).toHaveLength(MOST_ROLES);
});

test("i16 a document of several roles stands there once, with its role", () => {
  const one = { id: "x/a", title: "A", path: "/d/a", url: "file:///d/a" };
  const other = { id: "y/a", title: "A", path: "/d/a", url: "file:///d/a" };
  const web = { id: "y/b", title: "B", url: "http://b/" };
  const found = together([{ role: "r", results: [one] }, { role: "s", results: [other, web] }]);
  expect(found.map((each) => each.about)).toEqual(["r · /d/a", "s · http://b/"]);
  expect(together([{ role: "r", results: [one] }])[0]!.about).toBe("/d/a");
});
