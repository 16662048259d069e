// Looks at the runner's pages as people do. Started by browser.rs, which sets BASE, ENDED, LIVE, TOKEN and NODE_PATH.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(import.meta.url)("playwright-core");
const { BASE, ENDED, LIVE, TOKEN, SCREENSHOTS } = process.env;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
const wrong = [];

async function open(options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("console", (said) => { if (said.type() === "error" && !said.text().includes("401")) wrong.push(said.text()); });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("response", (answer) => { if (answer.status() >= 400 && answer.status() !== 401) wrong.push(`${answer.status()} ${answer.url()}`); });
  return page;
}
async function signIn(page, path) {
  await page.goto(BASE + path);
  await page.fill("#token", TOKEN);
  await page.click("button");
  await page.waitForURL(BASE + path);
}

// Text with less contrast than WCAG AA asks for.
function faint() {
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility()) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...found];
}

async function looks(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [390, 1280]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(sideways <= 0, `${name} at ${width} px scrolls sideways by ${sideways}`);
      assert.deepEqual(await page.evaluate(faint), [], `${name}, ${colorScheme}`);
      if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}-${colorScheme}.png`) });
    }
  }
}

try {
  const page = await open({});
  await page.goto(`${BASE}/runs/${ENDED}`);
  await looks(page, "sign-in");
  await page.fill("#token", "wrong");
  await page.click("button");
  await page.getByText("This is not the token.").waitFor();
  await signIn(page, `/runs/${ENDED}`);
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
  await looks(page, "run");
  assert.equal(await page.locator("details.step[open]").count(), 1, "only what failed is open");
  assert.equal(await page.evaluate(() => window.stolen), undefined);
  // An annotation leads to its line.
  await page.click(".notes .error a");
  await page.locator(".l.error:target").waitFor();
  // A long step, 20,000 lines, is laid out as it is looked at.
  await page.getByText("Long book").click();
  await page.getByText("a line of a book").first().waitFor();
  const chunks = await page.locator("details.step[open] .chunk").evaluateAll((all) => all.map((one) => getComputedStyle(one).contentVisibility));
  assert.ok(chunks.length >= 20 && chunks.every((how) => how === "auto"), `${chunks}`);
  await looks(page, "long");
  await page.goto(`${BASE}/runs`);
  await looks(page, "runs");

  // A link from elsewhere comes without the session.
  await page.route("http://elsewhere.test/", (route) => route.fulfill({ contentType: "text/html", body: `<a href="${BASE}/runs/${ENDED}">status</a>` }));
  await page.goto("http://elsewhere.test/");
  await page.click("a");
  await page.locator("#head").waitFor();

  // Without a script it can be read and used.
  const plain = await open({ javaScriptEnabled: false });
  await signIn(plain, `/runs/${ENDED}`);
  await plain.getByText("it broke").waitFor();

  // It goes on while it is looked at.
  await page.goto(`${BASE}/runs/${LIVE}`);
  await page.getByText("waiting for a machine").first().waitFor();
  console.log("looking");
  await page.getByText("hanging").waitFor({ timeout: 60_000 });
  await page.getByText("it broke").waitFor({ state: "attached" });
  await page.locator(".state.forgiven").waitFor();
  assert.equal(await page.locator("section.job").count(), 2);
  assert.equal(await page.locator("#j0s1 .l").count(), 6, "every line once");
  assert.equal(await page.locator("#j0s1 .group .l").count(), 2);
  assert.equal(await page.locator("#j0s2 .l").count(), 20_000);
  await page.locator(".notes li").nth(1).waitFor();
  await looks(page, "live");
  await page.getByText("waiting for a machine").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("#head .state.cancelled").waitFor({ timeout: 60_000 });
  await looks(page, "cancelled");
  await page.getByRole("button", { name: "Re-run", exact: true }).click();
  await page.getByText("attempt 2").first().waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("#head .state.cancelled").waitFor({ timeout: 60_000 });
  assert.deepEqual(wrong, []);
} finally {
  await browser.close();
}
