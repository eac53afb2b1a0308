// Bundles each test so that node's own runner can run it.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vite";

const root = import.meta.dirname;

export default defineConfig({
  root,
  publicDir: false,
  build: {
    ssr: true,
    target: "es2022",
    outDir: ".tests",
    emptyOutDir: true,
    minify: false,
    rollupOptions: {
      input: readdirSync(join(root, "tests"))
        .filter((name) => name.endsWith(".test.ts"))
        .map((name) => join(root, "tests", name)),
      output: { entryFileNames: "[name].mjs" },
    },
  },
});
