import { expect, test } from "vitest";
import { finder, markAt, markedTexts } from "./marks";

const text = "# Retry 😀\n\nA retry, *retries* and\n[retry](retry.md).\n\nIt retried once.\n";
const at = (word: string, from = 0): [number, number] => {
  const start = Array.from(text.slice(0, text.indexOf(word, from))).length;
  return [start, start + word.length];
};
const places = [at("Retry"), at("retry"), at("retries"), at("retried")];

test("i16 the server's marks are found again in what is shown", () => {
  expect(markedTexts(text, places)).toEqual(["retries", "retried", "retry"]);
  const found = finder(["retries", "retry"])!;
  expect("A retry, retries; path and md".split(found).filter((_, nth) => nth % 2)).toEqual(["retry", "retries"]);
  expect("word\n for word".split(finder(["word for"])!)).toEqual(["", "word\n for", " word"]);
  expect("concatenate a cat".split(finder(["cat"])!)).toEqual(["concatenate a ", "cat", ""]);
  expect("検索サーバー".split(finder(["検索"])!)).toEqual(["", "検索", "サーバー"]);
  expect(finder([])).toBeNull();
});

test("i16 the mark of a line is told by its place among its like", () => {
  expect(markAt(text, places, 1)).toEqual({ text: "retry", nth: 0 });
  expect(markAt(text, places, 2)).toEqual({ text: "retry", nth: 1 });
  expect(markAt(text, places, 4)).toEqual({ text: "retried", nth: 0 });
  expect(markAt(text, places, 99)).toBeNull();
});
