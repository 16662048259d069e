// What somebody sees who is not signed in: asked once, never refused, nothing in the console. Run like platform.test.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TOKEN, base, browser } from "./platform-site.mjs";

let context, page;
const said = [], refused = [];

/** A page of somebody else; the site's own page is signed in. */
async function open() {
  context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(15_000);
  page = await context.newPage();
  page.on("console", (line) => { if (/error|warning/.test(line.type())) said.push(line.text()); });
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("response", (answer) => { if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`); });
}

const quiet = () => assert.deepEqual([said.splice(0), refused.splice(0)], [[], []]);
const dialog = () => page.getByRole("dialog", { name: "This server wants a token" });

test("i15 a page that wants a token asks for it, and asks no server before", async () => {
  await open();
  for (const path of ["/ui/agents", "/ui/vms"]) {
    await page.goto(base + path);
    await dialog().waitFor();
    assert.equal(await page.getByRole("dialog").count(), 1);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("alert").filter({ hasText: "not signed in" }).first().waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0, "asked once for all parts of the page");
  }
  quiet();
});

test("i15 the palette finds what is open and offers to sign in", async () => {
  await page.goto(`${base}/ui/search`);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("needle");
  await page.getByRole("option", { name: /note\.md/ }).waitFor();
  const offer = page.getByRole("option", { name: /Sign in/ });
  assert.match(await offer.innerText(), /agents/);
  assert.equal(await dialog().count(), 0);
  await offer.click();
  await dialog().waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  quiet();
});

test("i15 signing in shows the page, its live events and the way out", async () => {
  await page.goto(`${base}/ui/agents`);
  await dialog().getByLabel(/The token/).fill(TOKEN);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "No runs" }).waitFor();
  await page.getByText("● live").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  quiet();
});

test("i15 who cancels and signs in later gets the page with its live events", async () => {
  await page.goto(`${base}/ui/agents`);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("○ not live").waitFor();
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await dialog().getByLabel(/The token/).fill(TOKEN);
  await page.keyboard.press("Enter");
  await page.getByText("● live").waitFor();
  await page.getByRole("heading", { name: "No runs" }).waitFor();
  quiet();
});
