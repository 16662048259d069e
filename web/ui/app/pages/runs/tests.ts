// Tests of runs as pages show them.

import type { RunTest, TestCounts, TestSummary } from "./model";

/** Which tests of a run are shown. */
export type TestView = "failed" | "flaky" | "quarantined" | "slowest" | "all";

type Named = { suite: string; name: string };

/** `suite > name`, as quarantine names it. */
export const fullName = (test: Named): string => (test.suite ? `${test.suite} > ${test.name}` : test.name);

/** `3 of 120 tests failed, 1 of them in quarantine`. */
export function countsLine(counts: TestCounts): string {
  const tests = counts.total === 1 ? "test" : "tests";
  const parts = [counts.failed > 0 ? `${counts.failed} of ${counts.total} ${tests} failed` : `${counts.passed} ${tests} passed`];
  if (counts.quarantined) parts.push(`${counts.quarantined} of them in quarantine`);
  if (counts.skipped > 0) parts.push(`${counts.skipped} skipped`);
  if (counts.flaky) parts.push(`${counts.flaky} flaky`);
  return parts.join(", ");
}

export const isBad = (outcome: string): boolean => outcome === "failed" || outcome === "error";

export function testTone(test: Pick<RunTest, "outcome" | "quarantine" | "flaky_on_commit">): string {
  if (isBad(test.outcome)) return test.quarantine ? "live" : "bad";
  if (test.flaky_on_commit) return "live";
  return test.outcome === "passed" ? "good" : "quiet";
}
/** The sign of a tone, beside its word: colour alone tells nothing. */
export function testSign(test: Pick<RunTest, "outcome" | "quarantine" | "flaky_on_commit">): string {
  return { bad: "✕", live: "●", good: "✓" }[testTone(test)] ?? "–";
}

export const placeOf = (test: Pick<RunTest, "file" | "line">): string =>
  test.file === undefined ? "" : test.line === undefined ? test.file : `${test.file}:${test.line}`;

/** The address of a test's history. */
export function historyLink(repository: string, test: Named & { job?: string }): string {
  const query = new URLSearchParams({ repository, suite: test.suite, name: test.name });
  if (test.job) query.set("job", test.job);
  return `/tests?${query}`;
}

/** A text as a TOML string. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll("\u007f", "\\u007f");

/** An entry for `.orrery/tests.toml`, to be filled in. */
export function quarantineEntry(test: Named, today = new Date()): string {
  const until = new Date(today.getTime() + 14 * 86_400_000).toISOString().slice(0, 10);
  return `[[quarantine]]\ntest = ${quoted(fullName(test))}\nreason = "say why"\nuntil = "${until}"\n`;
}

/** How often it failed, in words. */
export function summaryLine(test: TestSummary): string {
  const parts = [`${test.runs} runs`, `${test.failed} failed`];
  if (test.flaky_on.length > 0) parts.push(`flaky on ${test.flaky_on.length} ${test.flaky_on.length === 1 ? "commit" : "commits"}`);
  if (test.quarantined) parts.push("in quarantine");
  return parts.join(", ");
}
