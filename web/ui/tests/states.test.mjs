// Searching, reading, asking and the graph while they load and when they are refused, at both widths and in both schemes. Run
// like platform.test.mjs.
import { base, loadingAndRefused, looks, page, test } from "./platform-site.mjs";

test("i15 search: loading, refused, found, nothing found", async () => {
  await loadingAndRefused("search", "/ui/search?q=needle", "**/api/documents/search", "Searching", true);
  await page.locator(".hits > li").first().waitFor();
  await looks("search-found");
  await page.goto(`${base}/ui/search?q=nowhere+to+be+found`);
  await page.getByText("Nothing found").first().waitFor();
  await looks("search-nothing");
  await page.goto(`${base}/ui/search`);
  await page.getByText("1 document").first().waitFor();
  await looks("search-start");
});

test("i15 a document: loading, refused, shown, missing", async () => {
  await page.goto(`${base}/ui/search?q=needle`);
  await page.locator(".hits > li a").first().click();
  await page.waitForURL("**/ui/documents/**");
  const path = new URL(page.url()).pathname;
  await loadingAndRefused("document", path, "**/api/documents/**", "Reading the document", true);
  await page.locator("h1", { hasText: "Note" }).first().waitFor();
  await looks("document-shown");
  await page.goto(`${base}/ui/documents/nothing/at/all`);
  await page.getByRole("alert").waitFor();
  await looks("document-missing");
});

test("i15 chat: nothing yet, refused", async () => {
  await page.goto(`${base}/ui/chat`);
  await page.getByText("Ask your documents").waitFor();
  await looks("chat-empty");
  await page.route("**/api/chat", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify({ type: "about:blank", title: "Unavailable", status: 503, detail: "not now" }) }));
  await page.getByRole("textbox", { name: "Message" }).fill("Where is the needle?");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "not now" }).waitFor();
  await looks("chat-refused");
});

test("i15 the graph: refused, and of a role that learns nothing", async () => {
  await page.route("**/api/graph?*", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify({ type: "about:blank", title: "Unavailable", status: 503, detail: "not now" }) }));
  await page.goto(`${base}/ui/graph`);
  await page.getByRole("alert").filter({ hasText: "not now" }).waitFor();
  await looks("graph-refused");
  await page.unroute("**/api/graph?*");
  await page.goto(`${base}/ui/graph`);
  await page.getByText("learns no concepts").first().waitFor();
  await looks("graph-empty");
});
