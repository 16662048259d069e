// The pages of agents, machines, actors, settings and the API in a real Chromium, against a whole platform: search, runner,
// VM manager on the namespace sandbox, and an orchestrator whose agents run. Run by `cargo xtask test --only browser`, which
// builds the program and sets PLATFORM, CHROMIUM and NODE_PATH. With SCREENSHOTS=folder it leaves pictures of every state there;
// with UI_DIST=folder the pages come from there, and all else from the platform.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as ask } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test as plain } from "node:test";
import { webp } from "../bench/webp.mjs";

// NODE_PATH is honoured by require, not by import.
const { chromium } = createRequire(import.meta.url)("playwright-core");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { PICTURES, PLATFORM, SCREENSHOTS, UI_DIST } = process.env;
const TOKEN = "the-platform-s-token-of-the-tests", SECRET = "a-secret-of-the-tests-0123456789";
const HOSTILE = "<img src=x onerror=window.stolen=1><script>window.stolen=1</script>\u202egnp";

const folder = mkdtempSync(join(tmpdir(), "orrery-platform-"));
const wrong = [], logged = [];
let platform, front, browser, context, page, base;
const address = {};

function write(name, text) {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o600);
}

function writeSite() {
  write("documents/note.md", "# Note\n\nneedle\n");
  write("roles.json", JSON.stringify({
    name: "Reader", relevance_function: "BM25F", theme: "spacelab",
    haystacks: [{ name: "Notes", service: "LocalFiles", location: "documents" }],
  }));
  write("repository/README.md", "hello\n");
  const git = (...words) => execFileSync("git", ["-C", join(folder, "repository"), "-c", "user.name=t", "-c", "user.email=t@example.org", ...words]);
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  const agent = (name, more) => `[[agents]]\nproject = "main"\nname = "${name}"\ncli = "sh"\n${more}\n`;
  write("hostile.txt", `${HOSTILE}\n\u001b[31mred\u001b[0m\n${"long ".repeat(2000)}\n`);
  write("orchestrator/orchestrator.toml", `
listen = "127.0.0.1:0"
tick_interval_secs = 1
admin_socket = "admin.sock"
data_dir = "\${PLATFORM_DATA}/orchestrator"
[webhook]
secret = "\${ORCH_WEBHOOK_SECRET}"
[mentions]
[[projects]]
id = "main"
repository = "acme/main"
working_dir = "\${ORCH_PROJECT_DIR}"
worktree_root = "worktrees"
${agent("greeter", `script = "cat '${join(folder, "hostile.txt")}'; echo done"\ndescription = "Says <b>hello</b>"\nbudget_monthly_runs = 300`)}
${agent("sleeper", `script = "echo going to sleep; sleep 600"`)}
${agent("failing", `script = "echo it breaks; exit 3"`)}
${agent("early", `script = "true"\nschedule = "30 6 * * *"\ntime_zone = "Europe/Berlin"`)}
`);
  write("platform.toml", `
data_dir = "state"
[search]
settings = "roles.json"
listen = "127.0.0.1:0"
[vm_manager]
listen = "127.0.0.1:0"
driver = "namespace-sandbox"
agent = "/bin/true"
[runner]
listen = "127.0.0.1:0"
[orchestrator]
settings = "orchestrator/orchestrator.toml"
`);
}

async function start() {
  const { PATH } = process.env;
  platform = spawn(PLATFORM, ["--config", join(folder, "platform.toml")], {
    env: { PATH, HOME: folder, PLATFORM_TOKEN: TOKEN, FORGE_WEBHOOK_SECRET: SECRET, ORCH_WEBHOOK_SECRET: SECRET, ORCH_PROJECT_DIR: join(folder, "repository") },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const lines = createInterface({ input: platform.stderr });
  await new Promise((resolve, reject) => {
    platform.on("exit", (code) => reject(new Error(`the platform ended with ${code}:\n${logged.join("\n")}`)));
    lines.on("line", (line) => {
      logged.push(line);
      const said = (() => { try { return JSON.parse(line); } catch { return {}; } })();
      const fields = { ...said, ...said.fields };
      if (fields.event === "platform.listening") address[fields.product] = fields.url.replace(/\/$/, "");
      if (fields.event === "platform.started") resolve();
    });
  });
}

/** The built pages, with everything else asked of the platform. */
function pagesOf(dist) {
  const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
  const policy = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'; img-src 'self' data:";
  front = createServer((request, answer) => {
    const path = new URL(request.url, address.search).pathname;
    if (path.startsWith("/ui/") && !path.endsWith(".json")) {
      const file = /^\/ui\/(assets\/|favicon)/.test(path) ? path.slice(4) : "index.html";
      return answer.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream", "content-security-policy": policy }).end(readFileSync(join(dist, file)));
    }
    const headers = { ...request.headers, host: new URL(address.search).host };
    if (headers.origin) headers.origin = address.search;
    const passed = ask(address.search + request.url, { method: request.method, headers }, (said) => { answer.writeHead(said.statusCode, said.headers).flushHeaders(); said.pipe(answer); });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    request.pipe(passed);
  });
  return new Promise((resolve) => front.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${front.address().port}`)));
}

before(async () => {
  assert.ok(PLATFORM, "PLATFORM names the program");
  writeSite();
  await start();
  base = UI_DIST ? await pagesOf(UI_DIST) : address.search;
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  context.setDefaultTimeout(15_000);
  const entered = await context.request.post(`${base}/sign-in`, { form: { token: TOKEN }, headers: { origin: base, accept: "application/json" } });
  assert.equal(entered.status(), 204, await entered.text());
  page = await context.newPage();
  // What a refusal leaves in the console is the browser's own note.
  page.on("console", (said) => { if (/error|warning/.test(said.type()) && !/Failed to load resource/.test(said.text())) wrong.push(`console: ${said.text()}`); });
  page.on("pageerror", (error) => wrong.push(`script: ${error}`));
  page.on("request", (asked) => { if (!asked.url().startsWith(base) && !asked.url().startsWith("data:")) wrong.push(`asked for ${asked.url()}`); });
});

after(async () => {
  await browser?.close();
  front?.close();
  front?.closeAllConnections();
  if (platform && platform.exitCode === null) {
    platform.removeAllListeners("exit");
    const ended = new Promise((resolve) => platform.on("exit", resolve));
    platform.kill("SIGTERM");
    assert.equal(await ended, 0, "it ends well");
  }
  rmSync(folder, { recursive: true, force: true });
});

/** A test that leaves no address held or changed, and a picture of where it failed. */
function test(name, walk) {
  plain(name, async () => {
    try {
      await walk();
    } catch (error) {
      console.error(name, page.url(), wrong.splice(0), (await page.locator("body").innerText().catch(() => "")).slice(0, 600));
      if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `failed-${name.slice(0, 20).replace(/\W+/g, "-")}.png`) }).catch(() => {});
      throw error;
    } finally {
      await page.unrouteAll({ behavior: "ignoreErrors" });
      wrong.length = 0;
    }
  });
}

/** Both widths and both schemes: no sideways scrolling, nothing that axe finds, a picture; nothing hostile has run. */
async function looks(name) {
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(80);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (sideways > 0) wrong.push(`${name} at ${width} px scrolls sideways by ${sideways}`);
      await page.evaluate(axe);
      const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations.map((one) =>
        `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 140)} ${node.any?.[0]?.message ?? ""}`).join(" | ")}`));
      wrong.push(...found.map((one) => `${name}, ${scheme}, ${width} px: ${one}`));
      if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}-${scheme}.png`), fullPage: true });
    }
  }
  assert.equal(await page.evaluate(() => window.stolen), undefined, name);
  assert.deepEqual(wrong.splice(0), [], name);
}

/** The same page while an address does not answer, and when it answers with a refusal; then it is tried again. */
async function loadingAndRefused(name, path, pattern, loading, again) {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(pattern, async (route) => { await held; await route.continue().catch(() => {}); });
  await page.goto(`${base}${path}`);
  await page.getByText(loading).first().waitFor();
  await looks(`${name}-loading`);
  release();
  await page.unroute(pattern);
  await page.route(pattern, (route) => route.fulfill({
    status: 503, contentType: "application/problem+json", body: JSON.stringify({ type: "about:blank", title: "Unavailable", status: 503, detail: `not now ${HOSTILE}` }),
  }));
  await page.goto(`${base}${path}`);
  await page.getByRole("alert").filter({ hasText: "not now" }).first().waitFor();
  assert.ok((await page.getByRole("alert").filter({ hasText: "not now" }).first().innerText()).includes("\\u{202e}gnp"));
  await looks(`${name}-refused`);
  await page.unroute(pattern);
  if (again) await page.getByRole("button", { name: "Try again" }).click();
  else await page.reload();
}

let comments = 0;
/** A comment on the forge that mentions an agent, as `orchctl trigger` signs it; the run it started. */
async function mention(text, title = "An issue") {
  const body = JSON.stringify({
    action: "created", orchctl: true,
    comment: { id: ++comments, body: text, user: { login: "orchctl" }, created_at: new Date().toISOString() },
    issue: { number: 7, title, state: "open" }, repository: { full_name: "acme/main" },
  });
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  const answer = await fetch(`${address.orchestrator}/webhook`, {
    method: "POST", body,
    headers: { "content-type": "application/json", "x-github-event": "issue_comment", "x-github-delivery": `d-${comments}`, "x-hub-signature-256": `sha256=${signature}` },
  });
  const said = await answer.text();
  assert.ok(answer.ok, said);
  return said;
}
const rows = ".agents-runs > li";

test("agents: nothing yet, then loading and refused", async () => {
  await page.goto(`${base}/ui/agents`);
  await page.getByRole("heading", { name: "No runs" }).waitFor();
  await looks("agents-empty");
  await loadingAndRefused("agents", "/ui/agents", "**/admin/runs?*", "Reading the runs", true);
  await page.getByRole("heading", { name: "No runs" }).waitFor();
});

test("agents: runs come by themselves, end well or badly, and are refused with their reason", async () => {
  await mention("@orch:greeter please");
  await page.locator(rows).first().waitFor();
  await mention("@orch:failing please");
  await mention("@orch:sleeper please");
  await page.waitForFunction((rows) => [...document.querySelectorAll(rows)].some((row) => /success/.test(row.textContent)) && document.querySelectorAll(rows).length === 3, rows, { timeout: 30_000 });
  await page.locator(rows, { hasText: "sleeper" }).getByText("running").waitFor({ timeout: 30_000 });
  await looks("agents-runs");
  if (PICTURES) await webp(page, join(PICTURES, "agents.webp"));
  await page.getByLabel("State").selectOption("running");
  await page.waitForFunction((rows) => document.querySelectorAll(rows).length === 1, rows);
  assert.equal(new URL(page.url()).searchParams.get("state"), "running");
  await page.goto(`${base}/ui/agents`);
  await page.waitForFunction((rows) => document.querySelectorAll(rows).length === 3, rows);
});

test("agents: the views by keyboard, each in the address", async () => {
  await page.locator("#tab-runs").focus();
  for (const [view, seen] of [["queue", "Nothing waits"], ["refused", "Nothing was refused"], ["agents", "greeter"], ["calendar", "main/early"], ["try", "Where would a comment lead?"]]) {
    await page.keyboard.press("ArrowRight");
    await page.locator("#agents-view").getByText(seen).first().waitFor();
    assert.equal(new URL(page.url()).searchParams.get("view"), view);
    assert.equal(await page.evaluate(() => document.activeElement.id), `tab-${view}`);
    await looks(`agents-${view}`);
    await page.locator(`#tab-${view}`).focus();
  }
  await page.getByLabel("Text of the comment").fill(`@orch:greeter ${HOSTILE}`);
  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByText("main/greeter would run").waitFor();
  await looks("agents-tried");
});

test("an agent's run: its output is inert, it is read, repeated, cancelled and undone", async () => {
  await page.goto(`${base}/ui/agents?agent=greeter`);
  await page.locator(`${rows} a`).first().click();
  const output = page.getByLabel("Output of the agent");
  await output.getByText("done").waitFor();
  const text = await output.innerText();
  assert.ok(text.includes("<script>window.stolen=1</script>\\u{202e}gnp") && text.includes("\nred\n") && !text.includes("\u001b"), text.slice(0, 300));
  await page.getByText("whole").waitFor();
  await page.getByRole("button", { name: "Prompt" }).click();
  await page.getByRole("heading", { name: "Prompt of the agent" }).waitFor();
  await looks("agent-run");
  const before = page.url();
  await page.locator("h1").click();
  await page.keyboard.press("r");
  await page.waitForURL((url) => url.href !== before && url.pathname.startsWith("/ui/agents/runs/"));
  await page.getByText("whole").waitFor();
  await page.keyboard.press("Escape");
  await page.waitForURL("**/ui/agents");
  await page.goto(`${base}/ui/agents?agent=sleeper`);
  await page.locator(`${rows} a`).first().click();
  await output.getByText("going to sleep").waitFor();
  await looks("agent-run-live");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByText(/⊘.*cancelled|cancelled/).first().waitFor({ timeout: 30_000 });
  await page.goto(`${base}/ui/agents/runs/00000000-0000-0000-0000-000000000000`);
  await page.getByRole("alert").waitFor();
  await looks("agent-run-missing");
});

test("machines: none yet, loading and refused", async () => {
  await page.goto(`${base}/ui/vms`);
  await page.getByText("namespace-sandbox", { exact: true }).first().waitFor();
  await page.getByText("None at the moment.").waitFor();
  await page.getByText("No image yet").waitFor();
  await looks("vms-empty");
  await loadingAndRefused("vms", "/ui/vms", /\/vm-manager\/(health|vms|images|pool)$/, "Loading …", false);
  await page.getByText("None at the moment.").waitFor();
});

test("machines: what the manager may say of them, hostile names among it, and a release that is undone", async () => {
  // No image can be made in a test of the pages: these are answers of the shapes of the manager's API document.
  const now = Date.now(), at = (ms) => new Date(now + ms).toISOString();
  const run = "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
  const vm = { state: "ready", driver: "bubblewrap", isolation: "namespace-sandbox", image: "default", mem_mib: 256, vcpus: 1, disk_mib: 2048, network: "none", created_at: at(-60_000), lease_until: at(500_000), source: "pool", running: 1, ended: 0 };
  const answers = {
    vms: [
      { ...vm, id: "vm-0198", owner: `run-${run}-1-0` },
      { ...vm, id: "vm-0199", owner: HOSTILE, network: "user", allow: [HOSTILE, "*.dists.test"], running: 0, ended: 3, lease_until: at(-1000), source: "cold" },
      { ...vm, id: "vm-0200", state: "failed", reason: "boot_deadline", owner: undefined, running: 0 },
    ],
    images: [{ digest: "9f".repeat(32), names: ["default", HOSTILE], bytes: 5e7, virtual_bytes: 2e9 }],
    pool: [
      { image: "default", vcpus: 1, mem_mib: 256, disk_mib: 2048, template: "ready", ready: 2, making: 1, configured: true },
      { image: HOSTILE, vcpus: 2, mem_mib: 512, disk_mib: 4096, template: "failed", retry_at: at(30_000), ready: 0, making: 0, configured: false, last_used: at(-90_000) },
    ],
  };
  const released = [];
  await page.route(/\/vm-manager\/(vms|images|pool)(\/[^/]+)?$/, (route) => {
    const [, name, id] = /\/vm-manager\/(\w+)\/?(.*)$/.exec(new URL(route.request().url()).pathname);
    if (route.request().method() === "DELETE") { released.push(id); return route.fulfill({ status: 204 }); }
    return route.fulfill({ json: answers[name] });
  });
  await page.reload();
  await page.locator(".vm-row").nth(2).waitFor();
  assert.ok((await page.locator(".vms").innerText()).includes("\\u{202e}gnp"));
  assert.equal(await page.locator(".vm-row a").getAttribute("href"), `/ui/runs/${run}`);
  await looks("vms-filled");
  const release = page.getByRole("button", { name: "Release vm-0198" });
  await release.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Undo" }).click();
  await release.click();
  await page.getByText("vm-0198 is released.").waitFor({ timeout: 20_000 });
  assert.deepEqual(released, ["vm-0198"], "once, and not when it was undone");
  await page.unroute(/\/vm-manager\/(vms|images|pool)(\/[^/]+)?$/);
});

test("actors: the tree is live, found in and walked by keyboard", async () => {
  await page.goto(`${base}/ui/actors`);
  await page.getByText("● live").waitFor();
  const items = page.getByRole("treeitem");
  await items.nth(5).waitFor();
  const names = await page.getByRole("tree").innerText();
  if (PICTURES) await webp(page, join(PICTURES, "actors.webp"));
  for (const part of ["search", "runner", "orchestrator", "vms"]) assert.ok(names.includes(part), names);
  await looks("actors");
  await page.locator("h1").click();
  await page.keyboard.press("t");
  const focused = () => page.evaluate(() => document.activeElement.id);
  const root = await focused(), all = await items.count();
  assert.match(root, /^actor:/);
  await page.keyboard.press("ArrowDown");
  assert.notEqual(await focused(), root);
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.querySelectorAll("[role=treeitem]").length === 1);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((all) => document.querySelectorAll("[role=treeitem]").length >= all - 2, all);
  await page.keyboard.press("/");
  await page.keyboard.type("orchestrator");
  await page.waitForFunction((all) => document.querySelectorAll("[role=treeitem]").length < all, all);
  assert.equal(new URL(page.url()).searchParams.get("q"), "orchestrator");
  await looks("actors-found");
  await page.getByLabel("Find").fill(`nobody ${HOSTILE}`);
  await page.getByText("No actor has").waitFor();
  await looks("actors-none");
  await page.getByRole("button", { name: "Show all" }).click();
  await items.nth(5).waitFor();
  await loadingAndRefused("actors", "/ui/actors", "**/admin/actors/events", "Reading the tree", true);
  await items.nth(5).waitFor();
});

test("settings: sources, a folder to add, a mistake in its place, what is refused", async () => {
  await page.goto(`${base}/ui/settings`);
  const editor = page.getByLabel("Role file");
  await editor.waitFor();
  await page.getByRole("cell", { name: "Reader" }).waitFor();
  await looks("settings");
  await page.getByLabel("Name", { exact: true }).fill("More");
  await page.getByLabel("Folder", { exact: true }).fill(`/nowhere/${HOSTILE}`);
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Changes" }).getByText("nowhere").waitFor();
  await looks("settings-changed");
  await editor.fill("{\n  \"name\": \"Reader\",\n  \"colour\": 3\n}\n");
  await page.getByRole("button", { name: "Save" }).click();
  // A platform may want another token for its configuration: without it the page says so.
  await page.locator("#mistakes p, dialog[open]").first().waitFor();
  if (await page.locator("dialog[open]").count()) {
    await looks("settings-token");
    await page.keyboard.press("Escape");
  }
  await page.locator("#mistakes p").waitFor();
  await looks("settings-wrong");
  await page.getByRole("button", { name: "Undo all changes" }).click();
  await page.getByText("Nothing is changed.").waitFor();
  await loadingAndRefused("settings", "/ui/settings", "**/api/config", "Loading …", true);
  await editor.waitFor();
});

test("the API: every server's operations, found, opened by keyboard, copied; schemas by their links", async () => {
  await page.goto(`${base}/ui/api`);
  await page.getByText("/api/documents/search").first().waitFor();
  await looks("api");
  await page.getByRole("link", { name: "runner", exact: true }).click();
  await page.getByText("/runs/{id}/rerun").first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("rerun");
  await page.waitForFunction(() => document.querySelectorAll("summary[id^='op-']").length === 1);
  await page.locator("h1").click();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Parameters" }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("op"), "post /runs/{id}/rerun");
  await looks("api-operation");
  await page.keyboard.press("c");
  await page.getByText("Copied").waitFor();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(line, `curl -X POST '${base}/runner/runs/ID/rerun' -H "authorization: Bearer $TOKEN"`);
  await page.getByRole("link", { name: "Dispatched" }).first().click();
  await page.locator("#schema-Dispatched[open]").waitFor();
  await page.getByLabel("Find").fill("no such thing");
  await page.getByText("No operation has").waitFor();
  await looks("api-none");
  await loadingAndRefused("api", "/ui/api?part=orchestrator", "**/api/openapi.json", "Reading what the server does", true);
  await page.getByText("/admin/status").first().waitFor();
  // A server that is not ours may say anything.
  const path = `/x/{${HOSTILE}}`;
  await page.route("**/api/openapi.json", (route) => route.fulfill({ json: {
    openapi: "3.1.0", info: { title: HOSTILE, version: "1" }, tags: [{ name: HOSTILE, description: HOSTILE }],
    paths: { [path]: { get: { tags: [HOSTILE], summary: HOSTILE, description: HOSTILE, parameters: [{ name: HOSTILE, in: "query", required: true }], responses: { 200: { description: HOSTILE } } } } },
    components: { schemas: { [HOSTILE]: { type: "object", description: HOSTILE, properties: { [HOSTILE]: { type: "string" } } } } },
  } }));
  await page.goto(`${base}/ui/api?part=runner&op=${encodeURIComponent(`get ${path}`)}`);
  await page.getByRole("heading", { name: "Answers" }).waitFor();
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.ok((await page.locator("main").innerText()).includes("\\u{202e}gnp"));
  await looks("api-hostile");
});

test("the palette finds agents by name and the page of the API", async () => {
  await page.goto(`${base}/ui/actors`);
  await page.getByRole("treeitem").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("greet");
  await page.getByRole("option", { name: "main/greeter" }).waitFor();
  await looks("palette-agents");
  await page.getByRole("option", { name: "main/greeter" }).click();
  await page.waitForURL((url) => url.searchParams.get("agent") === "greeter" && url.pathname === "/ui/agents");
  await page.locator(rows).first().waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("API of");
  await page.getByRole("option", { name: "API of the servers" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/ui/api");
});

test("the palette finds actors, sources and settings, in one order", async () => {
  await page.goto(`${base}/ui/actors`);
  await page.getByRole("treeitem").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("orchestrator");
  const actor = page.getByRole("option", { name: /^\S+\/orchestrator / }).first();
  await actor.waitFor();
  await looks("palette-actors");
  await actor.click();
  await page.waitForURL((url) => url.pathname === "/ui/actors" && url.searchParams.get("q").includes("orchestrator"));
  await page.keyboard.press("Control+k");
  await page.keyboard.type("notes");
  await page.getByRole("option", { name: /LocalFiles of Reader/ }).waitFor();
  await page.getByRole("combobox", { name: "Go to" }).fill("theme darkly");
  await page.getByRole("option", { name: "Theme darkly" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "darkly");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("theme of the role");
  await page.getByRole("option", { name: "Theme of the role" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "spacelab");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("editor");
  await page.getByRole("option", { name: "Editor that opens files" }).click();
  await page.getByRole("heading", { name: "Open files in" }).waitFor();
  await looks("settings-editor");
});
