// What people wait for in the application, measured in a real Chromium against a real search-server:
//   SEARCH_SERVER=… CHROMIUM=… NODE_PATH=… node web/ui/bench/faces.mjs FOLDER…
// `cargo xtask bench faces FOLDER…` builds the server optimised and calls it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

const { chromium } = createRequire(import.meta.url)("playwright-core");
const folders = process.argv.slice(2).map((name) => resolve(name));
assert.ok(folders.length, "name one or more folders");
const QUERIES = ["search index", "hash map insert", "parse header", "error handling", "orbit", "thread spawn", "file open read", "iterator adapter", "tcp listener accept", "path:*.rs sort", "json value", "release notes"];
const home = mkdtempSync(join(tmpdir(), "orrery-faces-"));
const port = await new Promise((done) => {
  const probe = createServer().listen(0, "127.0.0.1", () => { const { port } = probe.address(); probe.close(() => done(port)); });
});
const base = `http://127.0.0.1:${port}`;
const haystacks = folders.map((location, at) => ({ name: `${basename(location)} ${at + 1}`, service: "LocalFiles", location }));
writeFileSync(join(home, "roles.json"), JSON.stringify({ name: "Everything", relevance_function: "BM25F", theme: "spacelab", haystacks }));
const server = spawn(process.env.SEARCH_SERVER, ["--config", join(home, "roles.json")], {
  env: { ...process.env, SERVICE_DATA_PATH: join(home, "data"), SERVICE_SERVER_HOSTNAME: `127.0.0.1:${port}`, LOG_LEVEL: "warn" },
  stdio: ["ignore", "ignore", "inherit"],
});
let browser;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const per = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)];
const row = (name, values, unit = "ms") => console.log(`${name.padEnd(52)} ${String(values.length).padStart(5)} ${[0.5, 0.95, 1].map((share) => per(values, share).toFixed(1).padStart(8)).join("")} ${unit}`);

/** From the event to the end of the frame that follows it: what a person sees of it. */
function watch() {
  window.waits = [];
  const note = (event) => {
    const began = event.timeStamp;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => window.waits.push([event.type, performance.now() - began]);
      channel.port2.postMessage(null);
    });
  };
  for (const type of ["keydown", "click"]) addEventListener(type, note, { capture: true });
}
const waits = async (page) => (await page.evaluate(() => window.waits.splice(0))).map(([, ms]) => ms);

try {
  let documents = 0;
  for (;;) {
    const health = await fetch(`${base}/health`).then((answer) => answer.json(), () => null);
    if (health?.sources.length && health.sources.every((source) => source.state === "ready")) {
      documents = health.sources.reduce((sum, source) => sum + source.documents, 0);
      break;
    }
    await pause(500);
  }
  await pause(5000);
  console.log(`${documents} documents; Chromium ${process.env.CHROMIUM_VERSION ?? ""}without a graphics card, 1280 × 800`);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  console.log(`browser ${browser.version()}\n`);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.addInitScript(watch);
  const page = await context.newPage();

  // What the first search loads.
  let sent = 0;
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  const kinds = new Map();
  network.on("Network.responseReceived", ({ requestId, response, type }) => kinds.set(requestId, response.url.includes("/ui/") || type === "Document"));
  network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => { if (kinds.get(requestId)) sent += encodedDataLength; });
  await page.goto(`${base}/ui/search`, { waitUntil: "networkidle" });
  const first = sent;
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN);
  const field = "search input[type=search]";
  const ask = async (query) => {
    await page.fill(field, "");
    await page.type(field, query, { delay: 60 });
    await page.waitForFunction((query) => new URLSearchParams(location.search).get("q") === query && document.querySelector(".hits[aria-busy=false]"), query);
  };
  await ask("parse header path:*.rs");
  await page.waitForLoadState("networkidle");
  console.log(`search page over the wire: ${(first / 1000).toFixed(1)} kB; with the colours of code in results: ${(sent / 1000).toFixed(1)} kB; first paint after ${paint.toFixed(0)} ms\n`);

  console.log(`${"from an interaction to its paint".padEnd(52)} ${"times".padStart(5)}      p50     p95     max`);
  await waits(page);
  for (const query of QUERIES) await ask(query);
  row("search: a key while typing", await waits(page));
  // From the last key to the results of its words in the list.
  const answers = [];
  for (const query of QUERIES) {
    await page.fill(field, "");
    await page.waitForFunction(() => !document.querySelector(".hits > li"));
    await page.type(field, query.slice(0, -1), { delay: 30 });
    await page.evaluate((query) => {
      window.answered = new Promise((done) => {
        addEventListener("keydown", (event) => {
          const look = () => {
            const there = new URLSearchParams(location.search).get("q") === query && document.querySelector(".hits[aria-busy=false] > li");
            if (!there) return requestAnimationFrame(look);
            const channel = new MessageChannel();
            channel.port1.onmessage = () => done(performance.now() - event.timeStamp);
            channel.port2.postMessage(null);
          };
          look();
        }, { capture: true, once: true });
      });
    }, query);
    await page.keyboard.press(query.at(-1));
    answers.push(await page.evaluate(() => window.answered));
  }
  row("search: last key to all results painted (80 ms pause)", answers);
  await ask("parse header path:*.rs");
  await waits(page);
  for (let n = 0; n < 15; n++) { await page.keyboard.press("ArrowDown"); await pause(40); }
  row("search: to the next result by keyboard", await waits(page));
  for (let n = 0; n < 12; n++) { await page.locator("button.places").nth(n % 4).click(); await pause(40); }
  row("search: all lines of a result, and fewer", await waits(page));
  for (let n = 0; n < 10; n++) { await page.locator(".facet button.chip").first().click(); await page.waitForSelector(".hits[aria-busy=false]"); await pause(150); }
  row("search: a facet", await waits(page));
  await page.goto(`${base}/ui/search?q=orbit`, { waitUntil: "networkidle" });
  await waits(page);
  const found = [];
  for (let n = 0; n < 12; n++) {
    await page.locator("h1").click({ force: true }).catch(() => {});
    await waits(page);
    await page.keyboard.press("Control+k");
    await page.waitForSelector("dialog[open]");
    found.push(...(await waits(page)));
    await page.keyboard.press("Escape");
    // Closed and gone: between them a key opens nothing.
    await page.waitForSelector('dialog[aria-label="Go to anything"]', { state: "detached" });
    await waits(page);
  }
  row("palette: opened", found);
  await page.keyboard.press("Control+k");
  await page.waitForSelector("dialog[open]");
  await waits(page);
  for (const query of QUERIES.slice(0, 6)) {
    await page.fill("dialog[open] input", "");
    await page.type("dialog[open] input", query, { delay: 60 });
    await pause(100);
  }
  row("palette: a key while typing", await waits(page));
  await page.keyboard.press("Escape");

  // A graph of 10,000 concepts: no corpus has that many on one picture, so these are made up.
  let seed = 1;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const NODES = 10_000;
  const concepts = Array.from({ length: NODES }, (_, n) => ({ id: `n${n}`, name: `concept ${n}`, kind: "keyphrase", documents: Math.ceil(400 * random() ** 8) }));
  const edges = Array.from({ length: 2 * NODES }, (_, n) => ({ from: `n${n % NODES}`, to: `n${Math.floor(random() ** 2 * NODES)}`, weight: random(), kind: "near" }));
  await page.route("**/api/graph?*", (route) => route.fulfill({ json: { role: "Everything", concepts, edges, documents: [] } }));
  await page.goto(`${base}/ui/graph`);
  await page.waitForSelector("canvas[data-frames]");
  const frames = async (ms, act = async () => {}) => {
    const count = () => page.evaluate(() => [Number(document.querySelector("canvas").dataset.frames), performance.now()]);
    await page.evaluate(() => { window.ticks = 0; const tick = () => { window.ticks++; requestAnimationFrame(tick); }; if (!window.ticking) { window.ticking = true; tick(); } });
    const [from, began] = await count();
    const until = Date.now() + ms;
    while (Date.now() < until) { await act(); await pause(8); }
    const [to, ended] = await count();
    const ticks = await page.evaluate(() => window.ticks);
    return [(to - from) / ((ended - began) / 1000), ticks / ((ended - began) / 1000)].map((rate) => rate.toFixed(0));
  };
  const box = await page.locator("canvas").boundingBox();
  // Nothing lies there: it is the picture that is dragged, not a concept.
  const [x, y] = [box.x + 4, box.y + 4];
  let angle = 0;
  const drag = () => page.mouse.move(x + 200 + 150 * Math.cos((angle += 0.15)), y + 200 + 150 * Math.sin(angle));
  const moving = await frames(6000);
  await page.mouse.move(x, y);
  await page.mouse.down();
  const panningAndMoving = await frames(5000, drag);
  await page.mouse.up();
  await pause(20_000);
  await page.mouse.move(x, y);
  await page.mouse.down();
  const panning = await frames(5000, drag);
  await page.mouse.up();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const zooming = await frames(5000, () => page.mouse.wheel(0, 30 * Math.cos((angle += 0.1))));
  console.log(`\ngraph of ${NODES} concepts and ${edges.length} links      pictures/s   frames of the page/s`);
  for (const [name, [pictures, ticks]] of Object.entries({ "while it finds its places": moving, "the same, dragged": panningAndMoving, "dragged, at rest": panning, "zoomed, at rest": zooming })) {
    console.log(`${name.padEnd(40)} ${pictures.padStart(10)} ${ticks.padStart(14)}`);
  }
} finally {
  await browser?.close();
  const ended = new Promise((done) => server.on("exit", done));
  if (server.exitCode === null && server.kill("SIGTERM")) await ended;
  rmSync(home, { recursive: true, force: true });
}
