// Makes the pictures of search for the documentation, of a real server on this repository:
//   SEARCH_SERVER=… CHROMIUM=… NODE_PATH=… node web/ui/bench/pictures.mjs [FOLDER]
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { webp } from "./webp.mjs";

const { chromium } = createRequire(import.meta.url)("playwright-core");
const root = fileURLToPath(new URL("../../..", import.meta.url));
const target = process.argv[2] ?? join(root, "docs/pictures");
const home = mkdtempSync(join(tmpdir(), "orrery-"));
// A copy: no folder of this machine is seen on a picture.
for (const folder of ["docs", "actors/search-core/src", "actors/supervision/src"]) cpSync(join(root, folder), join(home, folder), { recursive: true });
rmSync(join(home, "docs/benchmarks"), { recursive: true });
rmSync(join(home, "docs/pictures"), { recursive: true });
mkdirSync(target, { recursive: true });
const haystack = (name, location) => ({ name, service: "LocalFiles", location: join(home, location) });
writeFileSync(join(home, "roles.json"), JSON.stringify({
  name: "Engineer", relevance_function: "ServiceGraph", theme: "spacelab",
  haystacks: [haystack("Handbook", "docs"), haystack("Source", "actors")],
}));
const port = await new Promise((done) => {
  const probe = createServer().listen(0, "127.0.0.1", () => { const { port } = probe.address(); probe.close(() => done(port)); });
});
const base = `http://127.0.0.1:${port}`;
const server = spawn(process.env.SEARCH_SERVER, ["--config", join(home, "roles.json")], {
  env: { ...process.env, SERVICE_DATA_PATH: join(home, "data"), SERVICE_SERVER_HOSTNAME: `127.0.0.1:${port}`, LOG_LEVEL: "warn" },
  stdio: ["ignore", "ignore", "inherit"],
});
let browser;
try {
  for (let n = 0; ; n++) {
    const health = await fetch(`${base}/health`).then((answer) => answer.json(), () => null);
    const settled = (source) => source.state === "ready" && ["ready", "too_few"].includes(source.concepts?.state ?? "ready");
    if (health?.sources.length && health.sources.every(settled)) break;
    if (n > 600) throw new Error(`not indexed: ${JSON.stringify(health)}`);
    await new Promise((done) => setTimeout(done, 500));
  }
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  page.setDefaultTimeout(30_000);
  await page.goto(`${base}/ui/search?q=supervisor+restart`);
  await page.waitForSelector(".hits .lines .hljs-keyword");
  await page.mouse.move(0, 0);
  await webp(page, join(target, "search.webp"));
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${base}/ui/search?q=OPERATIONS+restart+path%3A*.md`);
  await page.locator(".hits a[id^='hit-']").first().click();
  await page.waitForSelector("main article h2");
  await webp(page, join(target, "document.webp"));
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto(`${base}/ui/graph`);
  await page.waitForSelector("canvas[data-frames]");
  await page.waitForTimeout(8000);
  await page.getByRole("searchbox", { name: "Find a concept" }).fill("supervis");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Concept" }).getByRole("link", { name: "Search for it" }).waitFor();
  await page.waitForTimeout(8000);
  await webp(page, join(target, "graph.webp"));
} finally {
  await browser?.close();
  const ended = new Promise((done) => server.on("exit", done));
  if (server.exitCode === null && server.kill("SIGTERM")) await ended;
  rmSync(home, { recursive: true, force: true });
}
