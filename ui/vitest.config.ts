import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

/** The parts of the page that need no browser. What needs one is tested in a real one, in tests/browser. */
export default defineConfig({
  plugins: [svelte({ compilerOptions: { runes: true } })],
  resolve: { conditions: ["browser"] },
  test: { include: ["tests/**/*.test.ts"], environment: "node", env: { TZ: "Europe/Berlin" } },
});
