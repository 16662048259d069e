// The page of machines over a real VM manager: its image, its isolation, a machine that is given out and released. Run like
// platform.test.mjs, with VM_GUEST (the agent of the VMs) and VM_CACHE (the images and kernels that other tests have made).
import assert from "node:assert/strict";
import { join } from "node:path";
import { webp } from "../bench/webp.mjs";

process.env.REAL_MACHINES = "yes";
// The site reads the variable while it is loaded; its page comes with the first test.
const site = await import("./platform-site.mjs");

site.test("i15 machines: a real one is given out, seen and released", async () => {
  const { base, page } = site;
  await page.goto(`${base}/ui/vms`);
  // The first time on a machine an image is made.
  await page.getByText("machines can be had").waitFor({ timeout: 900_000 });
  await page.getByRole("rowheader", { name: "default" }).first().waitFor();
  await site.looks("vms-real-idle");
  const asked = { mem_mib: 256, lease_s: 600, owner: "somebody" };
  const given = await page.request.post(`${base}/vm-manager/vms`, { data: asked, headers: { origin: base }, timeout: 120_000 });
  assert.equal(given.status(), 201, await given.text());
  const { id, isolation } = await given.json();
  const row = page.locator(".vm-row", { hasText: id });
  await row.waitFor();
  const told = await row.innerText();
  for (const words of ["somebody", "default, 1 CPU, 256 MiB", isolation, "network: none", "left"]) assert.ok(told.includes(words), told);
  await site.looks("vms-real");
  if (site.PICTURES) await webp(page, join(site.PICTURES, "machines.webp"));
  await row.getByRole("button", { name: `Release ${id}` }).click();
  await page.getByText(`${id} is released.`).waitFor({ timeout: 60_000 });
  await row.waitFor({ state: "detached" });
  const gone = await page.request.get(`${base}/vm-manager/vms/${id}`);
  assert.equal(gone.status(), 404, await gone.text());
});
