import { expect, test } from "vitest";
import { fitting } from "./palette";

test("settings are found by title, then by other words for them", () => {
  const all = [{ title: "Dark", words: "mode" }, { title: "Theme darkly", words: "colours" }, { title: "Editor", words: "link dark" }];
  expect(fitting(all, "DARK").map((one) => one.title)).toEqual(["Dark", "Theme darkly", "Editor"]);
  expect(fitting(all, "nothing")).toEqual([]);
});
