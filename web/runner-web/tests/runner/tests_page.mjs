// Walks the tests of a run and the page of tests as people do. Started by tests_page.rs, which sets BASE, TOKEN, the run RUN
// and NODE_PATH. With SCREENSHOTS=folder it leaves pictures there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(import.meta.url);
const { chromium } = require("playwright-core");
const { BASE, RUN, TOKEN, SCREENSHOTS } = process.env;
let axe = "";
try {
  axe = readFileSync(process.env.AXE || createRequire(new URL("../../../ui/package.json", import.meta.url)).resolve("axe-core/axe.min.js"), "utf8");
} catch {
  console.error("axe-core is not installed (npm ci in web/ui): the pages are walked, and not looked at by axe");
}
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
const wrong = [];
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] });
context.setDefaultTimeout(15_000);
const page = await context.newPage();
page.on("console", (said) => { if (["error", "warning"].includes(said.type())) wrong.push(`console: ${said.text()}`); });
page.on("pageerror", (error) => wrong.push(`script: ${error}`));

async function looks(name) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(50);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (sideways > 0) wrong.push(`${name} at ${width} px scrolls sideways by ${sideways}`);
      if (axe) await page.evaluate(axe);
      const found = !axe ? [] : await page.evaluate(async () => (await window.axe.run(document.querySelector("main") ?? document, { resultTypes: ["violations"] })).violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any?.[0]?.message ?? ""}`).join(" | ")}`));
      wrong.push(...found.map((one) => `${name}, ${theme}, ${width} px: ${one}`));
      if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}-${theme}.png`), fullPage: true });
    }
  }
  assert.equal(await page.evaluate(() => window.stolen), undefined, name);
}

try {
  const signed = await context.request.post(`${BASE}/sign-in`, { form: { token: TOKEN, next: "/runs" }, headers: { origin: BASE }, maxRedirects: 0 });
  assert.ok(signed.status() < 400, `sign-in: ${signed.status()}`);

  // Failed tests first, with message, trace and place; what strangers write is a text.
  await page.goto(`${BASE}/ui/runs/${RUN}`);
  const tests = page.locator(".run-tests");
  await tests.locator(".test-row").first().waitFor();
  // Of folded ones too.
  const said = await tests.evaluate((all) => all.textContent);
  for (const part of ["2 of 4 tests failed", "1 of them in quarantine", "<img src=x onerror=window.stolen=1>", "src/net.py:3", "their server"]) assert.ok(said.includes(part), `${part}: ${said}`);
  assert.equal(await tests.locator("img").count(), 0);
  assert.equal(await tests.locator(".test-row").count(), 2, "only what failed");
  await looks("run-tests");
  await tests.getByRole("button", { name: "Copy an entry for quarantine" }).first().click();
  await tests.getByText("Copied").waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^\[\[quarantine\]\]\ntest = "net > slow"\nreason = "say why"\nuntil = "20\d\d-\d\d-\d\d"\n$/);
  await tests.getByRole("button", { name: "All", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".run-tests .test-row").length === 4);
  await tests.getByRole("searchbox", { name: "Name holds" }).fill("FAST");
  await page.waitForFunction(() => document.querySelectorAll(".run-tests .test-row").length === 1);
  await tests.getByRole("searchbox", { name: "Name holds" }).fill("nothing like it");
  await tests.getByText("No test is like that.").waitFor();
  await tests.getByRole("searchbox", { name: "Name holds" }).fill("");
  await tests.getByRole("button", { name: "Flaky" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".run-tests .test-row").length === 1);
  assert.ok((await page.locator(".run-summary").innerText()).includes("Tests: 2 of 4 tests failed"));

  // Run by run.
  await tests.locator(".test-row summary").first().click();
  await tests.getByRole("link", { name: "History" }).first().click();
  await page.locator(".test-history tbody tr").first().waitFor();
  assert.equal(await page.locator(".test-history tbody tr").count(), 2);
  assert.match(await page.locator(".test-history").innerText(), /passed[\s\S]*failed/);
  await looks("test-history");
  await page.locator("a", { hasText: "All tests of" }).click();

  // The repository's: the flaky one first, a filter in the address, Back.
  await page.locator(".test-row").first().waitFor();
  assert.match(await page.locator(".test-row").first().innerText(), /net > slow[\s\S]*flaky on 1 commit/);
  await looks("tests");
  await page.getByLabel("Which").selectOption("flaky");
  await page.waitForFunction(() => document.querySelectorAll(".test-row").length === 1);
  assert.equal(new URL(page.url()).searchParams.get("kind"), "flaky");
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll(".test-row").length === 4);
  await page.goto(`${BASE}/ui/tests`);
  await page.getByText("Choose a repository").waitFor();
  await looks("tests-none");
  assert.deepEqual(wrong, []);
} finally {
  await browser.close();
}
