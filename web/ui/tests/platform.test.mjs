// The pages of agents, machines, actors, settings and the API in a real Chromium, against a whole platform. Run by
// `cargo xtask test --only browser`, which builds the program and sets PLATFORM, CHROMIUM and NODE_PATH.
import assert from "node:assert/strict";
import { join } from "node:path";
import { webp } from "../bench/webp.mjs";
import { HOSTILE, PICTURES, base, loadingAndRefused, looks, mention, page, test } from "./platform-site.mjs";

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

test("i18 VM hosts: the runner's own, loading and refused, and what it may say of others", async () => {
  await page.goto(`${base}/ui/hosts`);
  const own = page.locator(".vm-row", { hasText: "default" });
  await own.getByText("✓ it takes jobs").waitFor({ timeout: 30_000 });
  assert.match(await own.innerText(), /0 jobs[^]*MiB free[^]*\d+ of \d+ processors free[^]*namespace-sandbox by bubblewrap/);
  await looks("hosts");
  await loadingAndRefused("hosts", "/ui/hosts", /\/runner\/vm-hosts$/, "Loading …", false);
  const facts = { isolation: "hardware-vm", driver: "qemu", version: "9.9.9", images: ["full"], free_vms: 3, free_mem_mib: 100, mem_mib: 8192, free_vcpus: 5, vcpus: 8 };
  const others = [
    { name: "east<script>alert(1)</script>", url: "https://east.test/", labels: ["gpu"], jobs: 1, facts, cordon: { since: Date.now() - 60_000, by: "grace" } },
    { name: "west", url: "https://west.test/", labels: [], jobs: 2, trouble: "connection refused" },
    // Where it was before its address was changed.
    { name: "west", url: "https://former.test/", labels: [], jobs: 1, trouble: "it is not listed any more" },
  ];
  const asked = [];
  await page.route(/\/runner\/vm-hosts/, (route) => {
    if (route.request().method() === "GET") return route.fulfill({ json: others });
    asked.push(`${route.request().method()} ${decodeURIComponent(new URL(route.request().url()).pathname)}`);
    return route.fulfill({ json: { ...others[1], shells: 1 } });
  });
  await page.reload();
  await page.getByText("○ cordoned: it takes no new jobs").waitFor();
  await page.getByText("connection refused").waitFor();
  await page.getByText("5 of 8 processors free").waitFor();
  await looks("hosts-others");
  await page.getByRole("button", { name: "Drain west" }).first().click();
  await page.getByText("west is drained: 2 jobs and 1 open shells are left.").waitFor();
  await page.getByRole("button", { name: /^Uncordon east/ }).click();
  await page.getByText(/takes new jobs again/).waitFor();
  assert.deepEqual(asked.map((one) => one.split(" ")[0]), ["POST", "DELETE"]);
  assert.ok(asked[1].endsWith("/cordon"), asked[1]);
  await page.unroute(/\/runner\/vm-hosts/);
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
  await page.goto(`${base}/ui/vms`);
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
  // What is not indexed, by reason and by name.
  await page.getByText("2 paths not indexed", { exact: true }).click();
  await page.getByText("1: empty").click();
  await page.getByRole("listitem").getByText("drafts/empty.md").waitFor();
  await page.getByText("1: folders whose own .gitignore").click();
  await page.getByRole("listitem").getByText("cache", { exact: true }).waitFor();
  await looks("settings-skipped");
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
  const actor = page.getByRole("option").filter({ hasText: /\/orchestrator/ }).first();
  await actor.waitFor();
  await looks("palette-actors");
  await actor.click();
  await page.waitForURL((url) => url.pathname === "/ui/actors" && url.searchParams.get("q").includes("orchestrator"));
  await page.keyboard.press("Control+k");
  await page.keyboard.type("notes");
  await page.getByRole("option", { name: /LocalFiles of Reader/ }).waitFor();
  await page.getByRole("combobox", { name: "Go to" }).fill("theme darkly");
  await page.locator("#palette-list").getByRole("option", { name: "Theme darkly" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "darkly");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("theme of the role");
  await page.locator("#palette-list").getByRole("option", { name: "Theme of the role" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "spacelab");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("editor");
  await page.getByRole("option", { name: "Editor that opens files" }).click();
  await page.getByRole("heading", { name: "Open files in" }).waitFor();
  await looks("settings-editor");
});
