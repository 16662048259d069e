import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// A server to develop against: ORRERY_SERVER=http://127.0.0.1:8090 npm run dev
const server = process.env.ORRERY_SERVER ?? "http://127.0.0.1:8090";

export default defineConfig({
  root: "app",
  base: "/ui/",
  plugins: [svelte()],
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2023",
    // The policy of the pages takes no inline script, style or data font.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.txt" },
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/health", "/ws", "/ui/parts.json", "/ui/session.json", "/sign-in", "/sign-out"].map((path) => [
        path,
        { target: server, ws: path === "/ws" },
      ]),
    ),
  },
  test: { include: ["**/*.test.ts"], environment: "node" },
});
