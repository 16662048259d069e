import { describe, expect, it } from "vitest";
import { countsLine, fullName, historyLink, placeOf, quarantineEntry, testTone } from "./tests";

const counts = { total: 120, passed: 110, failed: 3, skipped: 7, flaky: 1, quarantined: 1, duration_ms: 5 };

describe("tests of runs", () => {
  it("are counted in one line", () => {
    expect(countsLine(counts)).toBe("3 of 120 tests failed, 1 of them in quarantine, 7 skipped, 1 flaky");
    expect(countsLine({ ...counts, total: 1, passed: 1, failed: 0, skipped: 0, flaky: 0, quarantined: 0 })).toBe("1 test passed");
  });
  it("are named as quarantine names them, in TOML that is one", () => {
    expect(fullName({ suite: "a", name: "b" })).toBe("a > b");
    expect(fullName({ suite: "", name: "b" })).toBe("b");
    const entry = quarantineEntry({ suite: "s", name: 'say "hi" \\ [1-2]' }, new Date("2026-11-24T10:00:00Z"));
    expect(entry).toBe('[[quarantine]]\ntest = "s > say \\"hi\\" \\\\ [1-2]"\nreason = "say why"\nuntil = "2026-12-08"\n');
  });
  it("lead to their history and place", () => {
    expect(historyLink("a/b", { suite: "s&", name: "n", job: "test (1)" })).toBe("/tests?repository=a%2Fb&suite=s%26&name=n&job=test+%281%29");
    expect([placeOf({}), placeOf({ file: "a.rs" }), placeOf({ file: "a.rs", line: 3 })]).toEqual(["", "a.rs", "a.rs:3"]);
  });
  it("look like what they mean", () => {
    const tone = (outcome: "passed" | "failed" | "error" | "skipped", more = {}): string => testTone({ outcome, flaky_on_commit: false, ...more });
    expect([tone("failed"), tone("error", { quarantine: "x" }), tone("passed", { flaky_on_commit: true }), tone("passed"), tone("skipped")]).toEqual(["bad", "live", "live", "good", "quiet"]);
  });
});
