// A whole platform for browser tests: search, runner, VM manager on the namespace sandbox, and an orchestrator whose agents
// run; and a signed-in page of a real Chromium on it. With SCREENSHOTS=folder it leaves pictures of every state there; with
// UI_DIST=folder the pages come from there, and all else from the platform.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, request as ask } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test as plain } from "node:test";

// NODE_PATH is honoured by require, not by import.
const { chromium } = createRequire(import.meta.url)("playwright-core");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const { PICTURES } = process.env;
const { PLATFORM, REAL_MACHINES, RUNNER_SETTINGS, SCREENSHOTS, UI_DIST, VM_CACHE, VM_GUEST } = process.env;
export const TOKEN = "the-platform-s-token-of-the-tests", SECRET = "a-secret-of-the-tests-0123456789";
const RUNNER_TOKEN = "the-runner-s-token-of-the-tests";
export const HOSTILE = "<img src=x onerror=window.stolen=1><script>window.stolen=1</script>\u202egnp";

if (REAL_MACHINES) mkdirSync(VM_CACHE, { recursive: true });
// On a disk, as in production: templates of VMs keep their memory there.
const folder = mkdtempSync(join(REAL_MACHINES ? VM_CACHE : tmpdir(), "orrery-platform-"));
const wrong = [], logged = [];
export let browser, page, base;
let platform, front, context;
/** Where the products listen. */
export const address = {};

export function write(name, text) {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o600);
}

function writeSite() {
  write("documents/note.md", "# Note\n\nneedle\n");
  write("documents/drafts/empty.md", "\n");
  write("documents/cache/.gitignore", "*\n");
  write("documents/cache/kept.md", "# Kept\n");
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
  // Only a test that looks at machines waits for real ones.
  const machines = REAL_MACHINES ? `agent = "${VM_GUEST}"` : 'driver = "namespace-sandbox"\nagent = "/bin/true"';
  if (REAL_MACHINES) {
    assert.ok(VM_GUEST && VM_CACHE, "VM_GUEST names the agent of VMs, VM_CACHE the folder of images and kernels");
    const data = join(folder, "state", "vm-manager");
    mkdirSync(data, { recursive: true });
    for (const name of ["images", "kernels"]) {
      mkdirSync(join(VM_CACHE, name), { recursive: true });
      symlinkSync(join(VM_CACHE, name), join(data, name));
    }
  }
  write("platform.toml", `
data_dir = "state"
[search]
settings = "roles.json"
listen = "127.0.0.1:0"
[vm_manager]
listen = "127.0.0.1:0"
${machines}
[runner]
listen = "127.0.0.1:0"
${RUNNER_SETTINGS ?? ""}
[orchestrator]
settings = "orchestrator/orchestrator.toml"
`);
}

async function start() {
  const { PATH } = process.env;
  platform = spawn(PLATFORM, ["--config", join(folder, "platform.toml")], {
    env: { PATH, HOME: folder, PLATFORM_TOKEN: TOKEN, FORGE_WEBHOOK_SECRET: SECRET, WORKFLOW_RUNNER_API_TOKEN: RUNNER_TOKEN, ORCH_WEBHOOK_SECRET: SECRET, ORCH_PROJECT_DIR: join(folder, "repository") },
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
export function test(name, walk) {
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
export async function looks(name) {
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
export async function loadingAndRefused(name, path, pattern, loading, again) {
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
export async function mention(text, title = "An issue") {
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
