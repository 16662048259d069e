// The web application in a real Chromium, against a real search-server on a folder of this test's own.
// Run by `cargo xtask test --only browser`, which builds the server and sets SEARCH_SERVER,
// CHROMIUM and NODE_PATH. With SCREENSHOTS=folder it also leaves pictures of every view there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

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
  writeFileSync(join(notes, "hostile.md"), "# <script>window.stolen=1</script> planets\n\n<img src=x onerror=\"window.stolen=1\"> planets <svg onload=alert(1)> javascript:alert(1) [a](javascript:alert(2)) ![p](http://127.0.0.1:9/p.png) \u202egnirts\u0007\n");
  for (let n = 0; n < 45; n++) writeFileSync(join(notes, `many${n}.txt`), `Entry ${n}\n\nA line about comets number ${n}.\n`);
  writeFileSync(join(code, "orbit.rs"), "/// Period of an orbit.\npub fn orbitalPeriod(distance: f64) -> f64 { distance.powf(1.5) }\n");
  const haystack = (name, location) => ({ name, service: "LocalFiles", location });
  const role = (name, haystacks, relevance_function = "BM25F") => ({ name, relevance_function, theme: "spacelab", haystacks });
  writeFileSync(join(folder, "roles.json"), JSON.stringify({
    default_role: "Everything",
    roles: [role("Everything", [haystack("Notes", notes), haystack("Code", code)]), role("Only code", [haystack("Code", code)]), role("Concepts", [haystack("Notes", notes)], "ServiceGraph")],
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
  page.setDefaultTimeout(Number(process.env.PAGE_TIMEOUT ?? 30_000));
  page.on("request", (request) => { if (!request.url().startsWith(base)) remote.push(request.url()); });
  // What a refusal or a server that is gone leaves there is the browser's own note.
  page.on("console", (message) => { if (/error|warning/.test(message.type()) && !/Failed to load resource/.test(message.text())) remote.push(message.text()); });
  page.on("pageerror", (error) => remote.push(`script error: ${error.message}`));
});

after(async () => {
  await browser?.close();
  server?.kill("SIGTERM");
  await new Promise((resolve) => (server ? server.on("exit", resolve) : resolve()));
  rmSync(folder, { recursive: true, force: true });
});

afterEach(async (t) => {
  if (t.error && page) {
    console.log(`at ${page.url()}:\n${(await page.innerText("body")).slice(0, 2000)}`);
    await picture(`failed-${t.name.replace(/\W+/g, "-").slice(0, 40)}`);
  }
});

async function picture(name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
}

const field = "search input[type=search]";
const hits = ".hits > li";
// The other choices stand there before it is known which roles there are.
const role = 'search label:has-text("Role") select';

async function type(query) {
  await page.fill(field, "");
  await page.type(field, query, { delay: 15 });
  // What stands there is the answer to all of these words, not to their beginning.
  await page.waitForFunction((query) => new URLSearchParams(location.search).get("q") === query, query);
  await page.waitForFunction(() => !document.querySelector(".hits[aria-busy=true]") && !document.querySelector("p.state")?.textContent.includes("Searching"));
}

const state = () => page.innerText("p.state");
const count = (wanted) => page.waitForFunction(([selector, wanted]) => document.querySelectorAll(selector).length === wanted, [hits, wanted]);

test("the start page lists the sources and how many documents they hold", async () => {
  await page.goto(base);
  await page.waitForFunction(() => /47 documents/.test(document.querySelector("main").innerText));
  assert.match(await page.innerText("main"), /Notes/);
  await picture("start");
});

test("results appear while typing, with the matches marked and the query in the address", async () => {
  await type("planets ellipses");
  await page.waitForFunction((selector) => document.querySelector(`${selector} h2`)?.textContent.includes("Orbit of the planets"), hits);
  const marks = await page.$$eval(`${hits}:first-child mark`, (nodes) => nodes.map((node) => node.textContent.toLowerCase()));
  assert.ok(marks.includes("planets") && marks.includes("ellipses"), `${marks}`);
  assert.match(await state(), /document/);
  await page.waitForFunction(() => /q=planets\+ellipses/.test(location.search));
  await picture("results");
});

test("suggestions come while typing and are chosen by keyboard", async () => {
  await type("plan");
  await page.waitForSelector("#suggestions [role=option]");
  const first = await page.innerText("#suggestions [role=option]:first-child");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue(field), first);
  await page.waitForSelector("#suggestions", { state: "hidden" });
});

test("S05 hostile text stays text, in the list and in the document", async () => {
  await type("planets");
  await page.waitForFunction((selector) => [...document.querySelectorAll(selector)].some((hit) => hit.textContent.includes("hostile.md")), hits);
  assert.equal(await page.$$eval(`${hits} script, ${hits} img, ${hits} svg`, (nodes) => nodes.length), 0);
  await page.evaluate((selector) => [...document.querySelectorAll(selector)].find((hit) => hit.textContent.includes("hostile.md")).querySelector("a").click(), hits);
  await page.waitForSelector("main article");
  await page.waitForFunction(() => document.querySelector("main article").textContent.includes("planets"));
  const inside = await page.$$eval("main article script, main article img, main article svg, main article [onerror]", (nodes) => nodes.length);
  assert.equal(inside, 0);
  const text = await page.innerText("main article");
  assert.ok(text.includes("\\u{202e}") && text.includes("\\u{7}") && text.includes("[picture: p]"), text);
  const links = await page.$$eval("main article a", (nodes) => nodes.map((node) => node.getAttribute("href")));
  assert.ok(links.every((href) => !href || !/^javascript/i.test(href)), `${links}`);
  assert.equal(await page.evaluate(() => window.stolen), undefined);
  await picture("hostile");
});

test("the keyboard reaches everything: field, list, document, back, help, palette", async () => {
  await page.goto(`${base}/ui/search?q=orbit`);
  await count(2);
  await page.focus(field);
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.id), "hit-0");
  await page.keyboard.press("j");
  assert.equal(await page.evaluate(() => document.activeElement.id), "hit-1");
  await page.keyboard.press("Enter");
  await page.waitForSelector("main mark");
  assert.match(page.url(), /\/ui\/documents\//);
  await picture("document");
  await page.keyboard.press("Escape");
  await count(2);
  await page.goBack();
  await page.waitForSelector("main mark");
  await page.goForward();
  await count(2);
  await page.focus("#hit-0");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open] #keys-title");
  await picture("keys");
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.type), "search");
  await page.keyboard.press("Control+k");
  await page.waitForSelector("dialog[open] [role=option]");
  await page.keyboard.type("graph");
  await page.keyboard.press("Enter");
  await page.waitForSelector("main canvas, main h2");
  assert.match(page.url(), /\/ui\/graph/);
});

test("a document of Markdown is rendered, with its headings in place", async () => {
  await page.goto(`${base}/ui/search?q=kepler`);
  await page.click(`${hits} a`);
  await page.waitForSelector("main article h2");
  assert.equal(await page.innerText("main article h2"), "Periods");
  await page.keyboard.press("t");
  await page.waitForSelector("main .code #L1");
  assert.match(await page.innerText("main .code"), /Kepler found/);
  await page.keyboard.press("t");
  await page.waitForSelector("main article h2");
});

test("i16 Markdown opens at the match, marked as the server found it", async () => {
  const path = join(folder, "notes", "birds.md");
  const filler = Array.from({ length: 120 }, (_, n) => `## Section ${n}\n\nA path of words about nothing.\n\n`).join("");
  writeFileSync(path, `# Birds\n\n${filler}## Cassowaries\n\nMost cassowaries cannot fly, but run.\n\n${filler}`);
  await page.goto(`${base}/ui/search`);
  await until("found", async () => {
    await type("cassowary path:*.md");
    return (await page.$$(hits)).length === 1;
  });
  await page.click(`${hits} a`);
  await page.waitForSelector("main article mark");
  const marks = await page.$$eval("main article mark", (nodes) => nodes.map((node) => node.textContent.toLowerCase()));
  assert.deepEqual(marks, ["cassowaries", "cassowaries"]);
  await page.waitForFunction(() => {
    const { top, bottom } = document.querySelector("main article mark").getBoundingClientRect();
    return top > 0 && bottom < innerHeight;
  });
  rmSync(path);
});

test("i16 the palette searches the role of the page", async () => {
  await page.goto(`${base}/ui/search?q=orbit&role=Only+code`);
  await count(1);
  await page.keyboard.press("Control+k");
  await page.waitForSelector("dialog[open] [role=option]");
  await page.keyboard.type("orbit");
  await page.waitForFunction(() => [...document.querySelectorAll("dialog[open] [role=option]")].some((one) => one.textContent.includes("orbit.rs")));
  assert.doesNotMatch(await page.innerText("dialog[open]"), /orbit\.md/);
  await page.keyboard.press("Enter");
  await page.waitForSelector("main .code mark");
  assert.match(page.url(), /role=Only\+code/);
  await page.goto(`${base}/ui/search`);
  await page.selectOption(role, "Everything");
});

test("roles switch what is searched, and the address keeps it", async () => {
  await page.goto(`${base}/ui/search`);
  await page.selectOption(role, "Only code");
  await type("orbital period");
  await count(1);
  assert.match(await page.innerText(hits), /orbit\.rs/);
  await page.reload();
  await count(1);
  assert.equal(await page.inputValue(role), "Only code");
  await page.selectOption(role, "Everything");
});

test("sources can be chosen, all words can be asked for", async () => {
  await type("orbit period");
  await page.waitForFunction((selector) => document.querySelectorAll(selector).length >= 2, hits);
  await page.click('button[aria-pressed]:has-text("Code")');
  await count(1);
  await page.click('button[aria-pressed]:has-text("Code")');
  await page.selectOption('search label:has-text("Words") select', "and");
  await type("kepler comets");
  await page.waitForFunction(() => document.querySelector("main").innerText.includes("Nothing found"));
  await picture("nothing");
  await page.click("text=Search for any of the words");
  await page.waitForSelector(hits);
});

test("facets narrow down, and the order is chosen", async () => {
  await type("planets OR comets OR orbit");
  await page.waitForSelector('[role=group][aria-label=Type] button');
  const chips = () => page.$$eval('[role=group][aria-label=Type] button', (nodes) => nodes.map((node) => node.innerText.replace(/\s+/g, " ")));
  assert.deepEqual(await chips(), [".txt 45", ".md 2", ".rs 1"]);
  await page.click('[role=group][aria-label=Type] button:has-text(".md")');
  await count(2);
  assert.equal(await page.inputValue(field), "planets OR comets OR orbit path:*.md");
  assert.equal(await page.getAttribute('[role=group][aria-label=Type] button', "aria-pressed"), "true");
  await picture("facets");
  await page.click('[role=group][aria-label=Type] button:has-text(".md")');
  await count(20);
  utimesSync(join(folder, "notes", "many7.txt"), 1_000_000_000, 1_000_000_000);
  await until("the oldest is first", async () => {
    await page.goto(`${base}/ui/search?q=comets&role=Everything&sort=oldest`);
    await count(20);
    return /many7\.txt/.test(await page.innerText(`${hits}:first-child`));
  });
  await page.selectOption('search label:has-text("Order") select', "newest");
  await page.waitForFunction((selector) => !/many7\.txt/.test(document.querySelector(selector)?.textContent ?? "many7.txt"), `${hits}:first-child`);
  assert.match(page.url(), /sort=newest/);
  await page.selectOption('search label:has-text("Order") select', "relevance");
});

test("more results are shown on request, none twice", async () => {
  await type("comets");
  await count(20);
  await page.click("text=Show more");
  await count(40);
  await page.keyboard.press("Tab");
  await page.click("text=Show more");
  await count(45);
  const places = await page.$$eval(`${hits} .place`, (nodes) => nodes.map((node) => node.textContent));
  assert.equal(new Set(places).size, 45);
  assert.equal(await page.$("text=Show more"), null);
});

test("a new file is found without a reload", async () => {
  writeFileSync(join(folder, "notes", "fresh.md"), "# Fresh\n\nzanzibarium arrived.\n");
  await until("the new file", async () => {
    await type("zanzibarium");
    await page.waitForTimeout(300);
    return (await page.$$(hits)).length === 1;
  });
});

test("results show their lines with matches, coloured, and each opens the document or the editor at it", async () => {
  const path = join(folder, "code", "moons.rs");
  const hostile = "// lunarTide <img src=x onerror=window.stolen=1> \u202egnp";
  const lines = ["/// How high it is.", "pub fn lunarTide(mass: f64) -> f64 {", "    let start = 1.0;", "    start * mass", "}", "", hostile, "fn a() { lunarTide(1.0); }", "fn b() { lunarTide(2.0); }", "fn c() { lunarTide(3.0); }"];
  writeFileSync(path, `${lines.join("\n")}\n`);
  await page.goto(`${base}/ui/search?role=Everything`);
  await until("the new file", async () => {
    await type("lunarTide");
    await page.waitForTimeout(300);
    return (await page.$$(hits)).length === 1;
  });
  const numbers = () => page.$$eval(`${hits} .lines .number`, (nodes) => nodes.map((node) => Number(node.textContent)));
  // From its definition on.
  assert.deepEqual(await numbers(), [2, 7, 8]);
  await page.waitForSelector(`${hits} .lines .hljs-keyword`);
  assert.ok((await page.$$eval(`${hits} .lines mark`, (nodes) => nodes.map((node) => node.textContent))).every((text) => text === "lunarTide"));
  await picture("lines");
  await page.focus("#hit-0");
  await page.keyboard.press("e");
  await page.waitForFunction((selector) => document.querySelectorAll(selector).length === 5, `${hits} .lines li`);
  assert.deepEqual(await numbers(), [2, 7, 8, 9, 10]);
  await page.waitForSelector(`${hits} .lines .hljs-comment`);
  assert.ok((await page.innerText(`${hits} .lines`)).includes("<img src=x onerror=window.stolen=1> \\u{202e}gnp"));
  assert.equal(await page.locator(`${hits} img`).count(), 0);
  await page.getByRole("button", { name: "Fewer lines" }).click();
  assert.deepEqual(await numbers(), [2, 7, 8]);
  assert.equal(await page.getAttribute(`${hits} .lines .number`, "href"), `vscode://file${path}:2`);
  await page.goto(`${base}/ui/settings`);
  await page.locator("label", { hasText: /^Editor/ }).locator("select").selectOption("Zed");
  await page.getByLabel("Link with").fill("javascript:alert({line})");
  await page.getByText("This is no link that opens an editor").waitFor();
  await page.getByLabel("Link with").fill("zed://file{path}:{line}");
  assert.equal(await page.locator("label", { hasText: /^Editor/ }).locator("select").inputValue(), "Zed");
  await page.goto(`${base}/ui/search?q=lunarTide&role=Everything`);
  await count(1);
  assert.equal(await page.getAttribute(`${hits} .lines .number`, "href"), `zed://file${path}:2`);
  await page.locator(`${hits} .lines .text`).nth(0).click();
  await page.waitForSelector("main .code .line.wanted#L2");
  assert.equal(new URL(page.url()).hash, "#L2");
  await page.waitForSelector("main .code .line.wanted .hljs-keyword");
  assert.equal(await page.innerText("main .code .line.wanted mark"), "lunarTide");
  assert.equal(await page.evaluate(() => window.stolen), undefined);
  await page.evaluate(() => localStorage.removeItem("orrery-editor"));
});

test("a document shows its neighbours in the graph", async () => {
  const notes = join(folder, "notes");
  writeFileSync(join(notes, "saturn.md"), "---\ntags: [ring systems]\n---\n# Saturn\n\nIt has rings.\n");
  writeFileSync(join(notes, "uranus.md"), "---\ntags: [ring systems]\n---\n# Uranus\n\nIt has rings as well.\n");
  let id;
  await until("the graph knows both", async () => {
    const found = await (await fetch(`${base}/api/graph?role=Concepts&concept=ring%20systems`)).json();
    id = found.documents.find((one) => one.endsWith("saturn.md"));
    return found.documents.length === 2;
  });
  await page.goto(`${base}/ui/documents/${id}?role=Concepts`);
  const around = page.getByRole("region", { name: "Neighbours in the graph" });
  await around.getByRole("link", { name: "uranus.md" }).waitFor();
  await picture("neighbours");
  await around.getByRole("link", { name: "ring systems" }).click();
  await page.getByRole("region", { name: "Concept" }).getByRole("link", { name: "saturn.md" }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("concept"), "ring systems");
  await page.goBack();
  await around.getByRole("link", { name: "uranus.md" }).click();
  await page.getByRole("heading", { name: "Uranus", level: 1 }).first().waitFor();
  for (const name of ["saturn.md", "uranus.md"]) rmSync(join(notes, name));
  await until("both are gone", async () => (await (await fetch(`${base}/api/graph?role=Concepts&concept=ring%20systems`)).status) === 404);
});

test("what the page loads is compressed, and little", async () => {
  const fresh = await browser.newPage();
  const sizes = [];
  fresh.on("response", (response) => { if (/\.(js|css)$/.test(new URL(response.url()).pathname)) sizes.push(response); });
  await fresh.goto(`${base}/ui/search?q=orbit`);
  await fresh.waitForSelector(`${hits} .lines [class^=hljs-]`);
  assert.ok(sizes.length > 5);
  let sent = 0;
  for (const response of sizes) {
    const plain = (await response.body()).length, { "content-encoding": coding, vary } = await response.allHeaders();
    const { responseBodySize } = await response.request().sizes();
    if (plain > 2000) assert.ok(coding && vary === "Accept-Encoding" && responseBodySize < plain, `${response.url()}: ${coding}, ${responseBodySize} of ${plain}`);
    sent += responseBodySize;
  }
  assert.ok(sent <= 200_000, `${sent} bytes`);
  await fresh.close();
});

test("t1 the configuration is changed with its token only, which is asked for and kept for this tab", async () => {
  const saved = async () => (await (await fetch(`${base}/api/config`)).json()).default_role;
  await page.goto(`${base}/ui/settings`);
  await page.waitForFunction(() => document.querySelector("textarea")?.value.includes("Everything"));
  const edit = async (from, to) => page.fill("textarea", (await page.inputValue("textarea")).replace(from, to));
  await edit('"default_role": "Everything"', '"default_role": "Only code"');
  await picture("settings");
  await page.click("button.primary");
  await page.waitForSelector("dialog[open] input[type=password]");
  assert.equal(await saved(), "Everything");
  await page.fill("dialog[open] input[type=password]", "wrong");
  await page.click("dialog[open] button.primary");
  await page.waitForFunction(() => document.querySelector("dialog[open] input[type=password]")?.value === "");
  await page.fill("dialog[open] input[type=password]", readFileSync(join(folder, "data", "configuration-token"), "utf8").trim());
  await page.click("dialog[open] button.primary");
  await until("it is saved", async () => (await saved()) === "Only code");
  assert.equal(await page.evaluate(() => Object.values(localStorage).some((value) => /^[0-9a-f]{64}$/.test(value))), false);
  // What only the file itself may: the reason is shown where it was written.
  await page.waitForFunction(() => document.querySelector("textarea").value.includes('"default_role": "Only code"') && document.querySelector("button.primary").disabled);
  await edit('"name": "Only code"', '"name": "\\u0024{HOME}"');
  await page.click("button.primary");
  await page.waitForFunction(() => document.querySelector("#mistakes").textContent.includes("variable"));
  await picture("refused");
});

test("themes by role have other colours, light and dark differ", async () => {
  const colours = async () => page.evaluate(() => {
    const style = getComputedStyle(document.documentElement);
    return [style.getPropertyValue("--bs-primary").trim(), getComputedStyle(document.body).backgroundColor];
  });
  await page.goto(`${base}/ui/search`);
  const seen = [];
  for (const theme of ["spacelab", "darkly", "sketchy"]) {
    await page.selectOption('select[title="Theme"]', theme);
    await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, theme);
    await page.waitForTimeout(200);
    seen.push((await colours())[0]);
  }
  assert.equal(new Set(seen).size, 3, `${seen}`);
  await page.selectOption('select[title="Theme"]', "");
  const both = [];
  for (const mode of ["light", "dark"]) {
    await page.selectOption('select[title="Light or dark"]', mode);
    await page.waitForTimeout(100);
    both.push((await colours())[1]);
  }
  assert.notEqual(both[0], both[1]);
  await page.selectOption('select[title="Light or dark"]', "auto");
});

test("chat answers from the documents without a model, and keeps the conversation", async () => {
  await page.goto(`${base}/ui/chat`);
  await page.fill("textarea", "What did Kepler find?");
  await page.keyboard.press("Enter");
  await page.waitForSelector("ol.cited a");
  await page.waitForFunction(() => /\/ui\/chat\/.+/.test(location.pathname));
  assert.match(await page.innerText("main article:nth-of-type(2)"), /ellipses/);
  await picture("chat");
  await page.reload();
  await page.waitForSelector("ol.cited a");
  await page.click("ol.cited a");
  await page.waitForFunction(() => location.pathname.startsWith("/ui/documents/"));
});

test("the graph has a list with the same content", async () => {
  await page.goto(`${base}/ui/graph?as=list&role=Only+code`);
  await page.waitForFunction(() => /learns no concepts/.test(document.querySelector("main").innerText));
  await page.selectOption('form label:has-text("Role") select', "Concepts");
  await page.waitForSelector("main .list button");
  await page.click("main .list button");
  await page.waitForFunction(() => document.querySelector("section[aria-label=Concept] h2"));
  await picture("graph");
});

test("y4 a search while indexing says so and fills by itself", async () => {
  let early = true;
  await page.route("**/api/documents/search", async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    if (early) Object.assign(answer, { results: [], total: 0, indexing: true, sources: [{ name: "Notes", service: "LocalFiles", took_ms: 1, hits: 0, indexing: { done: 120, total: 3000, bytes: 1 } }] });
    await route.fulfill({ response, json: answer });
  });
  await page.goto(`${base}/ui/search`);
  await type("ellipses");
  await page.waitForFunction(() => document.querySelector("p.state")?.textContent.includes("still indexing, 120 of 3,000 files"));
  early = false;
  await page.waitForSelector(hits);
  await page.unroute("**/api/documents/search");
});

test("axe finds nothing on any page, light and dark", async () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const path of ["search", "search?q=comets", "search?q=kepler+comets&operator=and", "graph?as=list", "chat", "settings", "nowhere"]) {
      await page.goto(`${base}/ui/${path}`);
      await page.waitForTimeout(400);
      await page.evaluate(axe);
      const found = await page.evaluate(async () => (await globalThis.axe.run()).violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3)}`));
      assert.deepEqual(found, [], `${colorScheme} ${path}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
});

test("it fits a phone", async () => {
  await page.setViewportSize({ width: 360, height: 780 });
  for (const path of ["search?q=planets", "chat", "graph?as=list", "settings"]) {
    await page.goto(`${base}/ui/${path}`);
    await page.waitForTimeout(400);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${path}: ${wide}`);
    await picture(`phone-${path.replace(/\W.*/, "")}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
});

test("S13 nothing outside is asked for, and no script failed", () => {
  assert.deepEqual(remote, []);
});

test("a server that went away is said", async () => {
  await page.goto(`${base}/ui/search`);
  server.kill("SIGTERM");
  await new Promise((resolve) => server.on("exit", resolve));
  server = null;
  await type("gone");
  await page.waitForFunction(() => document.querySelector("[role=alert]")?.textContent.includes("cannot be reached"));
});
