// Builds the page into dist/, the same bytes each time: names come from contents, and nothing of
// the machine or the hour goes in.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, existsSync } from "node:fs";
import { join, relative } from "node:path";
import { defineConfig, type Plugin } from "vite";

const root = import.meta.dirname;

/** What the built page is made from. `cargo xtask tidy` takes the same digest of the same files. */
const SOURCES = [
  "index.html",
  "package-lock.json",
  "package.json",
  "public",
  "src",
  "tsconfig.json",
  "vite.config.ts",
];

function filesBelow(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => filesBelow(join(path, name)));
}

function digestOfSources(): string {
  const lines = SOURCES.map((name) => join(root, name))
    .filter((path) => existsSync(path))
    .flatMap(filesBelow)
    .map((path) => {
      const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
      return `${digest}  ${relative(root, path).split("\\").join("/")}\n`;
    });
  // By path, in the order of bytes.
  lines.sort((one, two) => (one.slice(66) < two.slice(66) ? -1 : 1));
  return lines.join("");
}

/** Says which sources a build was made from, and under which licences its libraries stand. */
function beside(): Plugin {
  const bundled = new Set<string>();
  return {
    name: "coven-beside",
    apply: "build",
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        for (const module of Object.keys(chunk.modules)) {
          const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module);
          if (found?.[1]) bundled.add(found[1]);
        }
      }
      this.emitFile({ type: "asset", fileName: "licences.txt", source: licences([...bundled]) });
      this.emitFile({ type: "asset", fileName: "sources.sha256", source: digestOfSources() });
    },
  };
}

function licences(names: string[]): string {
  const parts = names.sort().map((name) => {
    const folder = join(root, "node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      version: string;
      license: string;
    };
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : about.license;
    return `${name} ${about.version} (${about.license})\n\n${text}\n`;
  });
  return `The page of Coven contains these libraries.\n\n${parts.join(`\n${"-".repeat(72)}\n\n`)}`;
}

export default defineConfig({
  root,
  base: "/",
  plugins: [beside()],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    sourcemap: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
  },
  server: {
    proxy: Object.fromEntries(
      [
        "/workflows", "/interventions", "/grimoires", "/adapters", "/events", "/trust", "/sign-in",
        "/status", "/health", "/version",
      ].map((path) => [path, { target: process.env.COVEN ?? "http://127.0.0.1:7171", ws: true }]),
    ),
  },
});
