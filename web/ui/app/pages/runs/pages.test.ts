import { describe, expect, it } from "vitest";
import { parts } from "./ansi";
import { compare } from "./compare";
import { nextCursor, readFilters, writeFilters } from "./filters";
import { layout } from "./layout";
import { awaitsReview, leftOutSummary, type GraphJob, type Job, type Run } from "./model";
import { readPlace, writePlace } from "./permalink";
import { LinePages, MAX_HEIGHT, scrollTo, seen } from "./window";

describe("lines", () => {
  const text = (line: string) => parts(line).map((part) => part.text).join("");
  it("have the colours of terminals as looks, and nothing else of their sequences", () => {
    expect(parts("\u001b[1;31mred\u001b[0m and \u001b[38;5;196mred\u001b[39m")).toEqual([
      { text: "red", look: "ansi-bold ansi-1" }, { text: " and ", look: "" }, { text: "red", look: "ansi-9" },
    ]);
    expect(text("\u001b[2J\u001b]0;title\u0007a\u001b[Kb\u001b[?25l")).toBe("ab");
    expect(text("cut \u001b[3")).toBe("cut [3");
  });
  it("show what is not seen, and no markup acts", () => {
    expect(text("a\u202eb\u0007\u200b<script>")).toBe("a\\u{202e}b\\u{7}\\u{200b}<script>");
    expect(text("a\tb")).toBe("a\tb");
  });
});

describe("runs that wait", () => {
  const gate = { name: "production", since: 0, until: 1, for_approval: true, settled: false };
  it("i17 are approved or rejected while somebody has to", () => {
    const asked = { reason: "a fork", until: 1 } as unknown as Run["approval"];
    const review = { verdict: "approved", at: 1 } as never;
    expect(awaitsReview({ state: "waiting", approval: asked, environments: [] })).toBe(true);
    expect(awaitsReview({ state: "waiting", approval: { ...asked!, review }, environments: [] })).toBe(false);
    expect(awaitsReview({ state: "running", environments: [gate] })).toBe(true);
    expect(awaitsReview({ state: "running", environments: [{ ...gate, review }] })).toBe(false);
    expect(awaitsReview({ state: "waiting", environments: [{ ...gate, for_approval: false }] })).toBe(false);
    expect(awaitsReview({ state: "cancelled", environments: [gate] })).toBe(false);
  });
});

describe("summaries", () => {
  it("i17 that the record leaves out are asked for from the first of them on", () => {
    const step = (number: number, bytes?: number, summary?: string): object => ({ number, summary_bytes: bytes, summary });
    const jobs = [{ steps: [step(1), step(2, 3, "abc")] }, { steps: [step(1, 3, "abc"), step(2), step(3, 9), step(4, 1)] }];
    expect(leftOutSummary({ jobs } as unknown as Run)).toBe("1-3");
    expect(leftOutSummary({ jobs: jobs.slice(0, 1) } as unknown as Run)).toBeUndefined();
  });
});

describe("addresses", () => {
  it("hold places, whatever a job is called", () => {
    for (const job of ["build", "a:b (1, x) #?%20 ü", ""]) {
      expect(readPlace(writePlace({ job, step: 3, line: 120 }))).toEqual({ job, step: 3, line: 120 });
    }
    expect(writePlace({ job: "build", step: 3, line: 120 })).toBe("#build:3:L120");
    expect(readPlace("#build:3")).toEqual({ job: "build", step: 3 });
    for (const wrong of ["", "#x", "#%E0%A4%A:1", "#a:b"]) expect(readPlace(wrong)).toBeUndefined();
  });
  it("hold filters in one order", () => {
    expect(writeFilters(readFilters("?text=a%26b&state=failed&colour=red&actor=+"))).toBe("?state=failed&text=a%26b");
    expect(nextCursor('<?state=failed&cursor=01-a>; rel="next"')).toBe("01-a");
    expect(nextCursor(null)).toBeUndefined();
  });
});

describe("a window on a million lines", () => {
  it("sees each line at some place of the scroll bar", () => {
    for (const total of [0, 1, 100, 1_000_000, 30_000_000]) {
      for (const line of [0, 1, Math.floor(total / 2), total - 1]) {
        if (line < 0 || line >= total) continue;
        const top = scrollTo(total, 20, line, 600);
        expect(top).toBeGreaterThanOrEqual(0);
        expect(top).toBeLessThanOrEqual(Math.max(0, Math.min(total * 20, MAX_HEIGHT) - 600));
        const view = seen(total, 20, top, 600);
        expect(view.first <= line && line < view.first + view.count, `${line} of ${total}`).toBe(true);
        expect(view.count).toBeLessThan(80);
      }
    }
  });
  it("fetches a page once and long lines in pieces", async () => {
    const asked: string[] = [];
    let ready = () => {};
    const done = new Promise<void>((resolve) => (ready = resolve));
    const pages = new LinePages(
      async (from, lines) => {
        asked.push(`${from}+${lines}`);
        const count = Math.min(lines, 300);
        return { total: 1000, lines: Array.from({ length: count }, (_, n) => ({ n: from + n, at: 0, kind: "out" as const, text: String(from + n) })) };
      },
      () => ready(),
      () => {},
    );
    pages.need(10, 20, 1000);
    pages.need(10, 20, 1000);
    await done;
    expect(asked).toEqual(["1+500", "301+200"]);
    expect(pages.line(499)?.text).toBe("500");
    expect(pages.line(500)).toBeUndefined();
  });
});

const job = (key: string, needs: string[] = [], more: Partial<GraphJob> = {}): GraphJob => ({ key, name: key, needs, matrix: false, state: "success", copies: [], ...more });

describe("the graph", () => {
  it("puts what is needed before what needs it", () => {
    const { nodes, edges } = layout([job("a"), job("b", ["a"]), job("c", ["a"]), job("d", ["b", "c", "gone"])]);
    expect(nodes.map((node) => node.column)).toEqual([0, 1, 1, 2]);
    expect(edges.length).toBe(4);
    expect(new Set(nodes.map((node) => `${node.x} ${node.y}`)).size).toBe(4);
  });
  it("puts what needs a called workflow behind all of it, and survives a circle", () => {
    const { nodes } = layout([job("call", [], { calls: "x.yml" }), job("call/a", [], { caller: "call" }), job("call/b", ["call/a"], { caller: "call" }), job("last", ["call"])]);
    expect(nodes.find((node) => node.job.key === "last")!.column).toBe(3);
    expect(layout([job("x", ["y"]), job("y", ["x"])]).nodes.length).toBe(2);
  });
});

describe("a comparison", () => {
  const ran = (name: string, conclusion: Job["conclusion"], ms: number, code = 0): Job => ({
    key: name, context: name, instance: 0, name, conclusion, queued_at: 0, started_at: 0, ended_at: ms,
    steps: [{ number: 1, name: "make", end: { ended: "exited", code }, started_at: 0, ended_at: ms }],
  });
  const run = (jobs: Job[]) => ({ jobs }) as unknown as Run;
  it("names what ended otherwise, took another time, is new or gone", () => {
    const found = compare(run([ran("a", "failure", 1000, 1), ran("b", "success", 9000), ran("new", "success", 1)]), run([ran("a", "success", 1000), ran("b", "success", 3000), ran("gone", "success", 1)]));
    expect(found.map((one) => `${one.why} ${one.job}${one.step ? `/${one.step}` : ""}`)).toEqual(["state a", "state a/make", "time b", "time b/make", "new new", "gone gone"]);
    expect(compare(run([ran("a", "success", 1400)]), run([ran("a", "success", 1000)]))).toEqual([]);
  });
});
