import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

const COMPRESSED = /\.(js|css|svg)$/;

/** Writes .br and .gz beside each file, which the server sends to those who take them. */
function compress(): Plugin {
  let folder = "";
  return {
    name: "compress",
    configResolved(config) {
      folder = resolve(config.root, config.build.outDir);
    },
    writeBundle() {
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !COMPRESSED.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        const data = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(data, { level: 9 }));
        const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
        writeFileSync(`${path}.br`, brotliCompressSync(data, options));
      }
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [svelte({ compilerOptions: { runes: true } }), compress()],
  build: {
    target: "es2022",
    outDir: "../src/holter/server/page",
    emptyOutDir: true,
    // An inlined script or picture is one that the content security policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        // Few files: each further one is a question to the server before the first chart.
        codeSplitting: {
          groups: [
            // What loads a page's script is Vite's own; in the charts' file it would bring that along everywhere.
            { name: "core", priority: 1, test: /node_modules|vite\/preload-helper|src\/(api|parts|state)\/|src\/format|src\/run\/(RunMenu|StateBadge|states)/ },
            { name: "charts", test: /src\/(chart|workspace)\/|src\/run\/(ChartTools|colours)/ },
          ],
        },
      },
    },
    reportCompressedSize: false,
  },
});
