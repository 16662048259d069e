// Writes app/api/<part>.d.ts of openapi/<part>.json, which `cargo xtask docs` writes of the servers'
// own types: a page that asks for what a server does not say fails `npm run check`.
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import openapi, { astToString } from "openapi-typescript";

const from = new URL("../openapi/", import.meta.url);
const to = new URL("../app/api/", import.meta.url);

await rm(to, { recursive: true, force: true });
await mkdir(to, { recursive: true });
for (const file of (await readdir(from)).filter((name) => name.endsWith(".json")).sort()) {
  const part = file.slice(0, -".json".length);
  const text = astToString(await openapi(new URL(file, from)));
  await writeFile(new URL(`${part}.d.ts`, to), `// Of openapi/${file}, written by \`npm run types\`.\n\n${text}`);
}
