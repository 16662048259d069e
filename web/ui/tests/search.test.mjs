// The search page in a real Chromium, against a real search-server on a folder of this test's own.
// Run by `cargo xtask test --only browser`, which builds the server and sets SEARCH_SERVER,
// CHROMIUM and NODE_PATH. With SCREENSHOTS=folder it also leaves pictures of every view there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

// NODE_PATH is honoured by require, not by import.
const { chromium } = createRequire(import.meta.url)("playwright-core");

const folder = mkdtempSync(join(tmpdir(), "orrery-browser-"));
let server, browser, page, base;
const remote = [];

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function writeSources() {
  const notes = join(folder, "notes"), code = join(folder, "code");
  mkdirSync(notes); mkdirSync(code);
  writeFileSync(join(notes, "orbit.md"), "# Orbit of the planets\n\nKepler found that planets move in ellipses.\n\n## Periods\n\nThe period grows with distance.\n");
  writeFileSync(join(notes, "hostile.md"), "# <script>window.stolen=1</script> planets\n\n<img src=x onerror=\"window.stolen=1\"> planets <svg onload=alert(1)> javascript:alert(1)\n");
  for (let n = 0; n < 45; n++) writeFileSync(join(notes, `many${n}.txt`), `Entry ${n}\n\nA line about comets number ${n}.\n`);
  writeFileSync(join(code, "orbit.rs"), "/// Period of an orbit.\npub fn orbitalPeriod(distance: f64) -> f64 { distance.powf(1.5) }\n");
  const haystack = (name, location) => ({ name, service: "LocalFiles", location });
  const role = (name, haystacks) => ({ name, relevance_function: "BM25F", theme: "spacelab", haystacks });
  writeFileSync(join(folder, "roles.json"), JSON.stringify({
    default_role: "Everything",
    roles: [role("Everything", [haystack("Notes", notes), haystack("Code", code)]), role("Only code", [haystack("Code", code)])],
  }));
}

async function until(what, check, ms = 30_000) {
  const deadline = Date.now() + ms;
  for (;;) {
    if (await check().catch(() => false)) return;
    assert.ok(Date.now() < deadline, `not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

before(async () => {
  writeSources();
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  server = spawn(process.env.SEARCH_SERVER, ["--config", join(folder, "roles.json")], {
    env: { ...process.env, SERVICE_DATA_PATH: join(folder, "data"), SERVICE_SERVER_HOSTNAME: `127.0.0.1:${port}`, LOG_LEVEL: "warn" },
    stdio: ["ignore", "inherit", "inherit"],
  });
  await until("indexed", async () => {
    const health = await (await fetch(`${base}/health`)).json();
    return health.sources.every((source) => source.state === "ready");
  });
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.on("request", (request) => { if (!request.url().startsWith(base)) remote.push(request.url()); });
  page.on("pageerror", (error) => remote.push(`script error: ${error.message}`));
});

after(async () => {
  await browser?.close();
  server?.kill("SIGTERM");
  await new Promise((resolve) => (server ? server.on("exit", resolve) : resolve()));
  rmSync(folder, { recursive: true, force: true });
});

async function picture(name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
}

async function type(query) {
  await page.fill("#q", "");
  await page.type("#q", query, { delay: 15 });
}

test("the start page lists the sources and how many documents they hold", async () => {
  await page.goto(base);
  await page.waitForSelector("#welcome table");
  const text = await page.innerText("#welcome");
  assert.match(text, /Notes/);
  assert.match(text, /47/);
  await picture("start");
});

test("results appear while typing, with the matches marked", async () => {
  await type("planets ellipses");
  await page.waitForFunction(() => document.querySelector(".hit h3")?.textContent.includes("Orbit of the planets"));
  const marks = await page.$$eval(".hit:first-child mark", (nodes) => nodes.map((node) => node.textContent.toLowerCase()));
  assert.ok(marks.includes("planets") && marks.includes("ellipses"), `${marks}`);
  assert.match(await page.innerText("#status"), /document/);
  assert.match(page.url(), /q=planets\+ellipses/);
  await picture("results");
});

test("S05 hostile text stays text", async () => {
  await type("planets");
  await page.waitForFunction(() => [...document.querySelectorAll(".hit")].some((hit) => hit.textContent.includes("hostile.md")));
  assert.equal(await page.$$eval("#results script, #results img, #results svg", (nodes) => nodes.length), 0);
  await page.evaluate(() => [...document.querySelectorAll(".hit")].find((hit) => hit.textContent.includes("hostile.md")).querySelector("a").click());
  await page.waitForFunction(() => document.querySelector("#preview-text").textContent.includes("planets"));
  assert.equal(await page.$$eval("#preview-text script, #preview-text img, #preview-text svg", (nodes) => nodes.length), 0);
  assert.equal(await page.evaluate(() => window.stolen), undefined);
  await page.keyboard.press("Escape");
});

test("the keyboard reaches everything: field, list, document, back", async () => {
  await page.keyboard.press("Escape");
  await type("orbit");
  await page.waitForFunction(() => document.querySelectorAll(".hit").length === 2 && document.querySelector("#results").textContent.includes("orbit.rs"));
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.$$eval('.hit[aria-current="true"]', (nodes) => nodes.length), 1);
  await page.keyboard.press("j");
  assert.equal(await page.getAttribute(".hit:nth-child(2)", "aria-current"), "true");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#preview:not([hidden])");
  await page.waitForFunction(() => document.querySelector("#preview-text mark"));
  await picture("document");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#preview", { state: "hidden" });
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.id), "q");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("?");
  assert.ok(await page.evaluate(() => document.querySelector("#help").open));
  await picture("help");
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "q");
});

test("roles switch what is searched, and the address keeps it", async () => {
  await page.selectOption("#role", "Only code");
  await type("orbital period");
  await page.waitForFunction(() => document.querySelectorAll(".hit").length === 1);
  assert.match(await page.innerText(".hit"), /orbit\.rs/);
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll(".hit").length === 1);
  assert.equal(await page.inputValue("#role"), "Only code");
  await page.selectOption("#role", "Everything");
});

test("sources can be chosen, all words can be asked for", async () => {
  await type("orbit period");
  await page.waitForFunction(() => document.querySelectorAll(".hit").length >= 2);
  await page.click('#source-filter button:has-text("Code")');
  await page.waitForFunction(() => [...document.querySelectorAll(".hit .source")].every((node) => node.textContent === "Code") && document.querySelectorAll(".hit").length === 1);
  await page.click('#source-filter button:has-text("Code")');
  await page.selectOption("#operator", "and");
  await type("kepler comets");
  await page.waitForFunction(() => document.querySelector("#status").textContent === "Nothing found.");
  await page.selectOption("#operator", "");
});

test("more results are shown on request, none twice", async () => {
  await type("comets");
  await page.waitForFunction(() => document.querySelectorAll(".hit").length === 20);
  await page.click("#more");
  await page.waitForFunction(() => document.querySelectorAll(".hit").length === 40);
  await page.click("#more");
  await page.waitForFunction(() => document.querySelectorAll(".hit").length === 45);
  const places = await page.$$eval(".hit .where", (nodes) => nodes.map((node) => node.textContent));
  assert.equal(new Set(places).size, 45);
  assert.ok(await page.$eval("#more", (node) => node.hidden));
});

test("a new file is found without a reload", async () => {
  writeFileSync(join(folder, "notes", "fresh.md"), "# Fresh\n\nzanzibarium arrived.\n");
  await until("the new file", async () => {
    await type("zanzibarium");
    await page.waitForTimeout(300);
    return (await page.$$(".hit")).length === 1;
  });
});

test("t1 the configuration is changed with its token only, which is asked for and kept for this tab", async () => {
  const saved = async () => (await (await fetch(`${base}/api/config`)).json()).default_role;
  await page.click("#config-button");
  await page.waitForFunction(() => document.querySelector("#config-text").value.includes("Everything"));
  const text = await page.inputValue("#config-text");
  await page.fill("#config-text", text.replace('"default_role": "Everything"', '"default_role": "Only code"'));
  await page.click("#config-dialog button[type=submit]");
  await page.waitForSelector("#token-dialog[open]");
  assert.equal(await saved(), "Everything");
  await page.fill("#token", "wrong");
  await page.click("#token-dialog button[value=use]");
  await page.waitForFunction(() => document.querySelector("#token-dialog[open]") && document.querySelector("#token").value === "");
  await page.fill("#token", readFileSync(join(folder, "data", "configuration-token"), "utf8").trim());
  await page.click("#token-dialog button[value=use]");
  await page.waitForSelector("#config-dialog", { state: "hidden" });
  assert.equal(await saved(), "Only code");
  assert.equal(await page.evaluate(() => Object.values(localStorage).some((value) => /^[0-9a-f]{64}$/.test(value))), false);
  // What only the file itself may: the reason is shown where it was written.
  await page.click("#config-button");
  await page.waitForFunction(() => document.querySelector("#config-text").value.includes("Only code"));
  await page.fill("#config-text", (await page.inputValue("#config-text")).replace('"name": "Only code"', '"name": "\\u0024{HOME}"'));
  await page.click("#config-dialog button[type=submit]");
  await page.waitForFunction(() => document.querySelector("#config-errors").textContent.includes("variable"));
  await page.click("#config-cancel");
});

test("y4 a search while indexing says so and fills by itself", async () => {
  let early = true;
  await page.route("**/api/documents/search", async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    if (early) Object.assign(answer, { results: [], total: 0, indexing: true, sources: [{ name: "Notes", service: "LocalFiles", took_ms: 1, hits: 0, indexing: { done: 120, total: 3000, bytes: 1 } }] });
    await route.fulfill({ response, json: answer });
  });
  await type("ellipses");
  await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("Nothing found yet"));
  assert.match(await page.innerText("#notices"), /Notes is being indexed: 120 of 3,000 files/);
  early = false;
  await page.waitForSelector(".hit");
  await page.unroute("**/api/documents/search");
});

test("it fits a phone", async () => {
  await page.setViewportSize({ width: 390, height: 780 });
  await type("planets");
  await page.waitForSelector(".hit");
  const wider = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  assert.equal(wider, false);
  await picture("phone");
  await page.setViewportSize({ width: 1280, height: 800 });
});

test("S13 nothing outside is asked for, and no script failed", () => {
  assert.deepEqual(remote, []);
});

test("a server that went away is said", async () => {
  server.kill("SIGTERM");
  await new Promise((resolve) => server.on("exit", resolve));
  server = null;
  await type("gone");
  await page.waitForFunction(() => document.querySelector("#notices").textContent.includes("cannot be reached"));
});
