// What others write is inert and holds nothing up: an answer of a model, and a line of ten megabytes. Run like platform.test.mjs.
import assert from "node:assert/strict";
import { HOSTILE, base, looks, page, test, write } from "./platform-site.mjs";

test("i15 a hostile answer of a model is inert", async () => {
  const message = `${HOSTILE}\n\n[click](javascript:window.stolen=1) ![pixel](http://127.0.0.1:9/pixel.png) <svg onload=window.stolen=1> \u001b[31mred\u001b[0m [1]\n`;
  const citation = { number: 1, cited: true, id: "x/y", title: HOSTILE, url: "javascript:window.stolen=1", snippet: HOSTILE };
  const done = { message, citations: [citation], provider: "none", model: HOSTILE, conversation_id: "c-1", truncated: false };
  const body = [["start", { provider: "none", model: HOSTILE }], ["delta", { text: message }], ["done", done]].map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join("");
  await page.route("**/api/chat", (route) => route.fulfill({ contentType: "text/event-stream", body }));
  // It is kept from then on, under a title of others.
  const head = { id: "c-1", title: HOSTILE, role: "Reader", updated_at: new Date().toISOString() };
  const kept = { head, messages: [{ role: "user", content: HOSTILE }, { role: "assistant", content: message, citations: [citation] }] };
  await page.route("**/api/conversations", (route) => route.fulfill({ json: { conversations: [head] } }));
  await page.route("**/api/conversations/c-1", (route) => route.fulfill({ json: kept }));
  await page.goto(`${base}/ui/chat`);
  await page.getByRole("textbox", { name: /message/i }).fill("What is it?");
  await page.keyboard.press("Enter");
  await page.getByText("[picture: pixel]").first().waitFor();
  const answer = page.locator("main");
  assert.ok((await answer.innerText()).includes("\\u{202e}gnp"));
  const acting = await answer.evaluate((main) => [...main.querySelectorAll("img, script, svg[onload], [onerror], iframe")].length + [...main.querySelectorAll("a[href]")].filter((one) => !/^(https?:|#|\/ui\/)/.test(one.getAttribute("href"))).length);
  assert.equal(acting, 0);
  await looks("chat-hostile");
});

test("i15 a line of ten megabytes is found, shown and holds nothing up", async () => {
  write("documents/long.txt", `zanzibarium ${"word ".repeat(1_950_000)}\n`);
  for (let tries = 0; ; tries++) {
    assert.ok(tries < 300, "it is not found");
    const found = await page.request.post(`${base}/api/documents/search`, { data: { search_term: "zanzibarium" }, headers: { origin: base } });
    if ((await found.json()).total === 1) break;
    await page.waitForTimeout(200);
  }
  await page.goto(`${base}/ui/search?q=zanzibarium`);
  await page.locator(".hits > li").waitFor();
  await looks("long-line-found");
  await page.locator(".hits > li a").first().click();
  await page.locator("h1", { hasText: "long.txt" }).waitFor();
  await page.getByText("zanzibarium").first().waitFor();
  // Keys are answered: nothing is being laid out for long.
  await page.keyboard.press("Escape");
  await page.locator(".hits > li").waitFor();
});
