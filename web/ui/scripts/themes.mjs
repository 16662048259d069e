// Writes app/themes/<name>.css: the variables of each Bootswatch theme, without its components,
// fonts from elsewhere and rules that no page here uses. Run by `npm run build`.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";

const from = new URL("../node_modules/bootswatch/dist/", import.meta.url);
const to = new URL("../app/themes/", import.meta.url);

// The first block of a selector; blocks of variables hold no braces of their own.
function block(css, selector) {
  const at = css.indexOf(`${selector} {`);
  if (at < 0) throw new Error(`no block ${selector}`);
  const start = css.indexOf("{", at) + 1;
  return css.slice(start, css.indexOf("}", start));
}

function variables(text) {
  const kept = [];
  for (const line of text.split(";")) {
    const declaration = line.trim().replace(/\s+/g, " ");
    // Nothing of these is read by the pages.
    if (!declaration.startsWith("--bs-") || /url\(|-rgb:|gray-\d|--bs-(breakpoint|gradient)/.test(declaration)) continue;
    kept.push(`  ${declaration};`);
  }
  return kept.join("\n");
}

await rm(to, { recursive: true, force: true });
await mkdir(to, { recursive: true });
for (const name of (await readdir(from)).sort()) {
  const css = await readFile(new URL(`${name}/bootstrap.css`, from), "utf8");
  const light = variables(block(css, "[data-bs-theme=light]"));
  const dark = variables(block(css, "[data-bs-theme=dark]"));
  const sheet = `/* Variables of Bootswatch's ${name}, MIT: see licenses.txt beside the built files. */
:root { color-scheme: light;\n${light}\n}
:root[data-bs-theme="dark"] { color-scheme: dark;\n${dark}\n}
`;
  await writeFile(new URL(`${name}.css`, to), sheet);
}
