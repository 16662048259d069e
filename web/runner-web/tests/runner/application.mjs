// Walks the application's pages of runs as people do. Started by application.rs, which sets BASE, TOKEN, the runs GREEN, FAILED,
// HOSTILE and LIVE, and NODE_PATH. With UI_DIST the pages come from that folder, and all else from BASE.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, request as ask } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { webp } from "../../../ui/bench/webp.mjs";

const require = createRequire(import.meta.url);
const { chromium } = require("playwright-core");
const { BASE, GREEN, FAILED, HOSTILE, LIVE, TOKEN, PICTURES, SCREENSHOTS, UI_DIST } = process.env;
let axe = "";
try {
  axe = readFileSync(process.env.AXE || createRequire(new URL("../../../ui/package.json", import.meta.url)).resolve("axe-core/axe.min.js"), "utf8");
} catch {
  console.error("axe-core is not installed (npm ci in web/ui): the pages are walked, and not looked at by axe");
}
const CSP = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'; img-src 'self' data:";

/** The built pages, with everything else asked of the runner. */
function front() {
  const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
  const server = createServer((request, answer) => {
    const path = new URL(request.url, BASE).pathname;
    if (path === "/ui/parts.json") return answer.writeHead(200, { "content-type": "application/json" }).end('{"parts":{"runner":{"base":""}}}');
    if (path.startsWith("/ui/")) {
      const file = /^\/ui\/(assets\/|favicon)/.test(path) ? path.slice(4) : "index.html";
      return answer.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream", "content-security-policy": CSP }).end(readFileSync(join(UI_DIST, file)));
    }
    const headers = { ...request.headers, host: new URL(BASE).host };
    if (headers.origin) headers.origin = BASE;
    const passed = ask(BASE + request.url, { method: request.method, headers }, (said) => { answer.writeHead(said.statusCode, said.headers); said.pipe(answer); });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    request.pipe(passed);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve([server, `http://127.0.0.1:${server.address().port}`])));
}

const [server, base] = UI_DIST ? await front() : [undefined, BASE];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
const wrong = [];
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true });
await context.grantPermissions([]);
context.setDefaultTimeout(10_000);
const page = await context.newPage();
const expected = [];
page.on("console", (said) => { if (["error", "warning"].includes(said.type()) && !expected.some((text) => said.text().includes(text))) wrong.push(`console: ${said.text()} ${said.location().url}`); });
page.on("pageerror", (error) => wrong.push(`script: ${error}`));
page.on("request", (asked) => { if (!asked.url().startsWith(base) && !asked.url().startsWith("data:")) wrong.push(`asked for ${asked.url()}`); });

async function looks(name) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(50);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (sideways > 0) {
        const wide = await page.evaluate(() => [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll, .graph-box, .log-box")).slice(0, 4).map((one) => `${one.tagName}.${one.className}`));
        wrong.push(`${name} at ${width} px scrolls sideways by ${sideways}: ${wide}`);
      }
      if (axe) await page.evaluate(axe);
      const found = !axe ? [] : await page.evaluate(async () => (await window.axe.run(document.querySelector(".run-page, .runs, main") ?? document, { resultTypes: ["violations"] })).violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.any?.[0]?.message ?? ""}`).join(" | ")}`));
      wrong.push(...found.map((one) => `${name}, ${theme}, ${width} px: ${one}`));
      if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}-${theme}.png`) });
    }
  }
  assert.equal(await page.evaluate(() => window.stolen), undefined, name);
}
/** From a click or a key to the painted answer, in ms. */
async function waits(act, wanted) {
  const waited = page.evaluate(({ rows, text, found }) => new Promise((done) => {
    const look = (began) => {
      const said = document.querySelector(".log-found")?.textContent ?? "";
      const there = [...document.querySelectorAll(`${rows} .log-text`)].some((one) => one.textContent.includes(text)) && (!found || (!said.includes("searching") && said.endsWith(found)));
      if (!there) return requestAnimationFrame(() => look(began));
      const channel = new MessageChannel();
      channel.port1.onmessage = () => done(performance.now() - began);
      channel.port2.postMessage(null);
    };
    for (const type of ["click", "keydown"]) addEventListener(type, (event) => look(event.timeStamp), { capture: true, once: true });
  }), wanted);
  // Where the act fails, that is what is told.
  waited.catch(() => {});
  await page.waitForTimeout(30);
  await act();
  return waited;
}

/** How long a person waits for a long log, and for a search in it. */
async function measureLog(lines) {
  const opened = [], found = [];
  for (let n = 0; n < 11; n++) {
    // The job itself: its steps stand below it, and another log is open.
    await page.locator(".run-jobs a").nth(1).click();
    await page.waitForFunction(() => !document.querySelector(".log-box")?.textContent.includes("crate-"));
    opened.push(await waits(() => page.locator(".run-jobs .steps a").first().click(), { rows: ".log-row", text: "crate-" }));
  }
  const field = page.getByRole("searchbox", { name: "Search in the log" });
  for (let n = 1; n <= 11; n++) {
    const wanted = String(Math.floor((lines * n) / 12));
    await field.fill("");
    await page.waitForFunction(() => !document.querySelector(".log-row.current"));
    await field.fill(`crate-${wanted}`);
    await page.waitForTimeout(600);
    found.push(await waits(() => page.keyboard.press("Space"), { rows: ".log-row.current", text: `crate-${wanted} `, found: "of 1" }));
  }
  const line = (name, all) => { all.sort((a, b) => a - b); console.log(`${name.padEnd(48)} p50 ${all[5].toFixed(0).padStart(5)} ms   most ${all[10].toFixed(0).padStart(5)} ms   (${all.length} times)`); };
  console.log(`\na log of ${lines} lines in the application`);
  line("opened: from the click to its painted lines", opened);
  line("searched: from a key to the painted line found", found);
}
const state = () => page.locator(".badge-state").innerText();

try {
  const signed = await context.request.post(`${BASE}/sign-in`, { form: { token: TOKEN, next: "/runs" }, headers: { origin: BASE }, maxRedirects: 0 });
  assert.ok(signed.status() < 400, `sign-in: ${signed.status()}`);

  // The list: filters are in the address, Back works, a hostile branch is a text.
  await page.goto(`${base}/ui/runs`);
  await page.locator(".run-row").nth(3).waitFor();
  assert.equal(await page.locator(".run-row").count(), 4);
  const rows = await page.locator(".runs-list").innerText();
  assert.ok(rows.includes("<img/src=x/onerror=window.stolen=1>\\u{202e}gnp") && rows.includes("<b>eve"), rows);
  await looks("runs");
  await page.getByLabel("State").selectOption("failed");
  await page.waitForFunction(() => document.querySelectorAll(".run-row").length === 2);
  assert.equal(new URL(page.url()).search, "?state=failed");
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll(".run-row").length === 4);
  await page.getByRole("searchbox", { name: "Text" }).fill("gnp");
  await page.waitForFunction(() => document.querySelectorAll(".run-row").length === 1);
  await page.getByRole("searchbox", { name: "Text" }).fill("nothing like it");
  await page.getByText("No run is like this.").waitFor();
  await looks("runs-none");
  await page.getByRole("button", { name: "Clear the filters" }).first().click();
  await page.waitForFunction(() => document.querySelectorAll(".run-row").length === 4);
  // By keyboard to the failed run.
  await page.locator("h1").click();
  for (let n = 0; n < 3; n++) await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/ui/runs/${FAILED}*`);

  // What failed is open; its lines, colours and annotation are there and do nothing.
  await page.locator(".log-row .ansi-2").first().waitFor();
  assert.match(await page.locator(".run-log h2").innerText(), /test \(2\).*Unit tests/);
  assert.match(await state(), /failed/);
  assert.equal(await page.locator(".graph-node").count(), 3);
  await page.locator(".log-row", { hasText: "exit code 3" }).waitFor();
  await looks("run-failed");
  if (PICTURES) await webp(page, join(PICTURES, "run.webp"));
  const search = page.getByRole("searchbox", { name: "Search in the log" });
  await search.fill("FATAL");
  await page.locator(".log-row.current", { hasText: "window.stolen" }).waitFor();
  assert.ok((await page.locator(".log-row.current .log-text").innerText()).includes("<script>window.stolen=1</script> \\u{202e}gnp"));
  assert.equal(await page.locator(".log-found").innerText(), "1 of 1");
  assert.ok(new URL(page.url()).searchParams.get("q") === "FATAL");
  await page.locator(".run-notes a").first().click();
  await page.locator(".log-row.picked").waitFor();
  assert.match(new URL(page.url()).hash, /:1:L\d+$/);
  await page.reload();
  await page.locator(".log-row.picked.kind-error").waitFor();
  assert.ok((await page.locator(".log-row.picked").innerText()).includes("bad thing"), "the address leads to the line");
  await page.getByLabel("Times", { exact: true }).check();
  assert.match(await page.locator(".log-row time").first().innerText(), /^\d\d:\d\d:\d\d\.\d\d\d$/);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Plain text" }).click()]);
  const text = readFileSync(await download.path(), "utf8");
  assert.ok(text.includes("fatal <script>window.stolen=1</script> <U+202E>gnp\n") && /^20\d\d-/.test(text), text.slice(-300));
  // The summary is Markdown, and nothing that acts is left of it.
  await page.locator(".summary-text h4").first().waitFor();
  assert.equal(await page.locator(".summary-text").first().locator("script, img, [onerror], a[href^='javascript']").count(), 0);
  assert.ok(await page.locator(".summary-text table").count() > 0);
  // What is different from the last good run.
  await page.getByRole("button", { name: "Compare with the last good run" }).click();
  await page.locator(".run-compare tbody tr").first().waitFor();
  const compared = await page.locator(".run-compare").innerText();
  assert.match(compared, /test \(2\)[\s\S]*success[\s\S]*failure/);
  assert.match(compared, /ship[\s\S]*skipped/);
  await looks("run-compared");

  // Only what failed runs again; the rest is kept.
  await page.getByRole("button", { name: "Run failed jobs again" }).click();
  await page.waitForFunction((id) => !location.pathname.endsWith(id), FAILED);
  await page.waitForFunction(() => /succeeded/.test(document.querySelector(".badge-state")?.textContent ?? ""));
  assert.equal(await page.locator(".job-kept").count(), 2);
  assert.match(await page.locator(".run-facts").first().innerText(), /attempt 2/);

  // One job of it, although it went well, and what needs it.
  const second = await page.evaluate(() => location.pathname);
  await page.locator(".job-item a", { hasText: "test (1)" }).first().click();
  await page.getByRole("button", { name: "Run this job again" }).click();
  await page.waitForFunction((path) => location.pathname !== path, second);
  await page.waitForFunction(() => /succeeded/.test(document.querySelector(".badge-state")?.textContent ?? ""));
  assert.match(await page.locator(".run-facts").first().innerText(), /attempt 3/);
  assert.equal(await page.locator(".job-kept").count(), 2);
  assert.equal(await page.locator(".job-item", { hasText: "test (1)" }).locator(".job-kept").count(), 0);

  // A hostile run.
  await page.goto(`${base}/ui/runs/${HOSTILE}`);
  await page.locator(".badge-state").waitFor();
  assert.ok((await page.locator(".run-facts").first().innerText()).includes("\\u{202e}gnp"));
  await looks("run-hostile");

  // A long log: any place of it, and a search.
  await page.goto(`${base}/ui/runs/${GREEN}#build:1`);
  await page.locator(".log-row").first().waitFor();
  const lines = Number((await page.locator(".log-total").innerText()).replace(/\D/g, ""));
  assert.ok(lines >= 50_000, String(lines));
  assert.ok(await page.locator(".log-row").count() < 100, "only what is seen is in the page");
  await page.locator(".log-box").focus();
  await page.keyboard.press("e");
  await page.getByText(`crate-${lines - 1} `).or(page.getByText(`crate-${lines - 2} `)).first().waitFor();
  await page.keyboard.press("b");
  await page.keyboard.press("f");
  await page.keyboard.type("crate-4321 ");
  await page.locator(".log-row.current").waitFor();
  await page.goto(`${base}/ui/runs/${GREEN}#build:1:L30000`);
  await page.locator(".log-row.picked").waitFor();
  if (process.env.ORRERY_LOG_LINES) await measureLog(lines);

  // A live run, and its end: first undone.
  await page.goto(`${base}/ui/runs/${LIVE}`);
  await page.locator(".log-row", { hasText: "hanging" }).waitFor();
  await looks("run-live");
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.waitForTimeout(11_000);
  assert.match(await state(), /running/, "it was undone");
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.waitForFunction(() => /cancelled/.test(document.querySelector(".badge-state")?.textContent ?? ""), null, { timeout: 30_000 });

  // A workflow is started by its form, and the list shows it as it comes.
  const watcher = await context.newPage();
  await watcher.goto(`${base}/ui/runs`);
  await watcher.locator(".run-row").nth(4).waitFor();
  await page.goto(`${base}/ui/runs`);
  await page.getByRole("button", { name: "Start a workflow" }).click();
  const form = page.getByRole("form", { name: "Start a workflow" });
  await form.getByLabel("Workflow").selectOption(".github/workflows/ship.yml");
  await form.getByLabel("Where to").selectOption("mars");
  await looks("dispatch");
  await form.getByRole("button", { name: "Start it" }).click();
  await page.waitForFunction(() => /succeeded/.test(document.querySelector(".badge-state")?.textContent ?? ""));
  await watcher.locator(".run-row", { hasText: "Ship" }).waitFor();
  await watcher.close();

  expected.push("404");
  await page.goto(`${base}/ui/runs/none`);
  await page.getByText("There is no such run").waitFor();
  await looks("run-missing");
  assert.deepEqual(wrong, []);
} catch (error) {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, "failed.png"), fullPage: true }).catch(() => {});
  console.error(wrong);
  throw error;
} finally {
  await browser.close();
  server?.close();
  server?.closeAllConnections();
}
