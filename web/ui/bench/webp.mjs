// Small pictures of pages, for the documentation.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

const MAX_BYTES = 60_000;

/** A picture of what is seen, at the best quality that fits into 60 kB. */
export async function webp(page, path) {
  const chromium = await page.context().newCDPSession(page);
  for (const quality of [85, 70, 55, 40, 25]) {
    const { data } = await chromium.send("Page.captureScreenshot", { format: "webp", quality });
    const bytes = Buffer.from(data, "base64");
    if (bytes.length > MAX_BYTES) continue;
    writeFileSync(path, bytes);
    console.log(`${path}: ${(bytes.length / 1000).toFixed(1)} kB, quality ${quality}`);
    await chromium.detach();
    return;
  }
  assert.fail(`${path} does not fit into ${MAX_BYTES} bytes`);
}
