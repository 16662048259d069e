// The terminal of a run's page in the kept VM of a failed job: a real forge of files, a real runner, a real VM. Run like
// machines.test.mjs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { after } from "node:test";

const WORKFLOW = `on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: |
          mkdir sub
          echo left-by-the-step > sub/file
      - run: exit 3
        working-directory: sub
`;
const folder = mkdtempSync(join(tmpdir(), "orrery-forge-"));
const work = join(folder, "work"), bare = join(folder, "acme/rocket.git");
const git = (...words) => execFileSync("git", ["-C", work, "-c", "user.name=t", "-c", "user.email=t@example.org", ...words], { encoding: "utf8" }).trim();
mkdirSync(join(work, ".github/workflows"), { recursive: true });
writeFileSync(join(work, ".github/workflows/ci.yml"), WORKFLOW);
git("init", "--quiet", "--initial-branch=main");
git("add", ".");
git("commit", "--quiet", "-m", "first");
git("clone", "--quiet", "--bare", ".", bare);
git("--git-dir", bare, "update-server-info");
// Git fetches from plain files, too.
const forge = createServer((request, answer) => {
  const path = normalize(new URL(request.url, "http://forge").pathname);
  try {
    answer.writeHead(200).end(readFileSync(join(folder, path)));
  } catch {
    answer.writeHead(404).end();
  }
});
await new Promise((resolve) => forge.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${forge.address().port}`;
process.env.REAL_MACHINES = "yes";
process.env.RUNNER_SETTINGS = `forge_url = "${url}"\nallow_http = true\n[runner.keep]\nfailed = true\nsnapshots = true\n`;
// The site reads the variables while it is loaded; its page comes with the first test.
const site = await import("./platform-site.mjs");

after(() => {
  forge.close();
  forge.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

/** Pushes the commit; gives the id of its run. */
async function push() {
  const sha = git("rev-parse", "HEAD");
  const body = JSON.stringify({
    ref: "refs/heads/main", before: "0".repeat(40), after: sha, created: true, deleted: false, commits: [],
    head_commit: { id: sha, message: "first", added: [], modified: [], removed: [] }, pusher: { login: "ada" }, sender: { login: "ada" },
    repository: { full_name: "acme/rocket", clone_url: `${url}/acme/rocket.git`, default_branch: "main" },
  });
  const signature = createHmac("sha256", site.SECRET).update(body).digest("hex");
  const answer = await fetch(`${site.address.runner}/webhook`, {
    method: "POST", body,
    headers: { "content-type": "application/json", "x-gitea-event": "push", "x-gitea-delivery": "d-1", "x-gitea-signature": signature },
  });
  const said = await answer.json();
  assert.equal(answer.status, 202, JSON.stringify(said));
  return said.run;
}

site.test("i17 terminal: a shell in the kept VM of a failed job takes a command and shows its output", async () => {
  const { base, page } = site;
  const run = await push();
  await page.goto(`${base}/ui/runs/${run}`);
  const kept = page.getByRole("region", { name: "Kept machines" });
  // The first time on a machine an image is made.
  await kept.waitFor({ timeout: 900_000 });
  await kept.getByRole("button", { name: "Open shell" }).click();
  const rows = page.locator(".run-terminal .xterm-rows");
  const shown = (text) => rows.filter({ hasText: text }).waitFor({ timeout: 120_000 });
  await shown("sub#");
  await page.keyboard.type("cat file; echo it-is-$((6 * 7))\n");
  await shown("left-by-the-step");
  await shown("it-is-42");
  // The terminal of the VM has the size of the one in the page.
  await page.keyboard.type("echo size $(stty size) size\n");
  await rows.filter({ hasText: /size \d+ \d+ size/ }).waitFor({ timeout: 120_000 });
  const [, lines, columns] = /size (\d+) (\d+) size/.exec(await rows.innerText());
  assert.equal(Number(lines), await page.locator(".run-terminal .xterm-rows > div").count());
  assert.ok(Number(columns) > 80, columns);
  await page.keyboard.type("exit 7\n");
  await page.getByText("The shell has ended with exit code 7.").waitFor({ timeout: 120_000 });
  // As it was before its first step: what that has made is not there yet.
  await kept.getByLabel("as it was").selectOption("1");
  await kept.getByRole("button", { name: "Open shell" }).click();
  await shown("workspace#");
  await page.keyboard.type("ls -d sub || echo none-$((3 * 3))\n");
  await shown("none-9");
  await page.keyboard.type("exit 0\n");
  await page.getByText("The shell has ended with exit code 0.").waitFor({ timeout: 120_000 });
  // Another attempt goes on before the second step.
  await kept.getByLabel("as it was").selectOption("2");
  await kept.getByRole("button", { name: "Run again from step 2" }).click();
  await page.waitForURL((address) => address.pathname.includes("/ui/runs/") && !address.pathname.endsWith(run));
  const next = page.getByRole("region", { name: "Kept machines" });
  await next.waitFor({ timeout: 120_000 });
  await next.getByRole("button", { name: "Release" }).click();
  await page.getByText("The VM of build is given back.").waitFor({ timeout: 60_000 });
});
