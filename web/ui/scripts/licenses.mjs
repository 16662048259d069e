// Adds to dist/licenses.txt what the bundler leaves out: packages that only workers hold.
import { readFile, writeFile } from "node:fs/promises";

const PACKAGES = ["d3-dispatch", "d3-force", "d3-quadtree", "d3-timer"];
const file = new URL("../dist/licenses.txt", import.meta.url);
let text = (await readFile(file, "utf8")).trimEnd();
for (const name of PACKAGES) {
  const folder = new URL(`../node_modules/${name}/`, import.meta.url);
  const { version, license } = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
  const heading = `## ${name} - ${version} (${license})`;
  if (text.includes(heading)) continue;
  text += `\n\n${heading}\n\n${(await readFile(new URL("LICENSE", folder), "utf8")).trim()}`;
}
await writeFile(file, `${text}\n`);
