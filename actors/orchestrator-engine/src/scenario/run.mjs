// Runs checked scenarios in Chromium: node scenarios.mjs PLAN REPORTS
//
// CHROMIUM names the browser, NODE_PATH the folder that holds playwright-core. Says one line for each
// step, writes REPORTS/report.json and the pictures, and ends with 1 when a scenario failed, with 2 when
// there is no browser.
import { createRequire } from "node:module";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const [plan_file, reports] = process.argv.slice(2);

const actions = {
  async goto(page, step, scenario) {
    const answer = await page.goto(new URL(step.url, scenario.base_url).href);
    if (answer && answer.status() >= 400) throw new Error(`the page answered ${answer.status()}`);
  },
  click: (page, step) => page.click(step.selector),
  type: (page, step) => page.fill(step.selector, step.text),
  async expect(page, step) {
    const place = page.locator(step.selector, step.text ? { hasText: step.text } : undefined).first();
    await place.waitFor({ state: "visible" });
  },
  screenshot: (page, step, scenario, folder) => page.screenshot({ path: join(folder, `${step.name}.png`) }),
};

function said(step) {
  return [step.kind, step.url ?? step.selector ?? step.name, step.text].filter(Boolean).join(" ");
}

async function run(browser, name, scenario) {
  const folder = join(reports, name);
  await mkdir(folder, { recursive: true });
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(scenario.timeout_ms);
  const console_errors = [];
  page.on("console", (line) => line.type() === "error" && console_errors.length < 50 && console_errors.push(line.text().slice(0, 500)));
  const report = { file: name, name: scenario.name, passed: true, steps: [], console_errors };
  for (const step of scenario.steps) {
    const began = Date.now();
    try {
      await actions[step.kind](page, step, scenario, folder);
      report.steps.push({ step: said(step), passed: true, ms: Date.now() - began });
      console.log(`ok    ${name}: ${said(step)}`);
    } catch (error) {
      const reason = String(error.message ?? error).split("\n")[0].slice(0, 500);
      report.steps.push({ step: said(step), passed: false, ms: Date.now() - began, reason });
      report.passed = false;
      console.log(`FAIL  ${name}: ${said(step)}: ${reason}`);
      await page.screenshot({ path: join(folder, "failure.png") }).catch(() => {});
      break;
    }
  }
  await context.close();
  return report;
}

const { scenarios } = JSON.parse(await readFile(plan_file, "utf8"));
let browser;
try {
  const { chromium } = createRequire(import.meta.url)("playwright-core");
  const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
  // Chromium's own sandbox does not work as root.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({ executablePath, args });
} catch (error) {
  console.error(`no browser: ${String(error.message ?? error).split("\n")[0]}; install chromium and playwright-core, and set CHROMIUM and NODE_PATH`);
  process.exit(2);
}
const reported = [];
for (const [name, scenario] of scenarios) reported.push(await run(browser, name, scenario));
await browser.close();
const failed = reported.filter((report) => !report.passed).length;
await writeFile(join(reports, "report.json"), JSON.stringify({ passed: failed === 0, scenarios: reported }, null, 2) + "\n");
console.log(`${reported.length - failed} of ${reported.length} scenarios passed`);
process.exitCode = failed === 0 ? 0 : 1;
