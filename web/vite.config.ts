import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Compressed once here, so that the server never spends time on it. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    async writeBundle(options, bundle) {
      const [{ writeFile }, { promisify }, zlib] = await Promise.all([
        import("node:fs/promises"),
        import("node:util"),
        import("node:zlib"),
      ]);
      const gzip = promisify<Uint8Array, object, Uint8Array>(zlib.gzip);
      for (const [name, file] of Object.entries(bundle)) {
        if (!/\.(js|css|svg|html)$/.test(name)) continue;
        const source = file.type === "chunk" ? file.code : file.source;
        const bytes = typeof source === "string" ? new TextEncoder().encode(source) : source;
        await writeFile(`${options.dir}/${name}.gz`, await gzip(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), compressed()],
  build: {
    outDir: "../src/danlu/web",
    emptyOutDir: true,
    target: "es2022",
    // Fonts and pictures as files: the Content-Security-Policy stays narrow.
    assetsInlineLimit: 0,
    manifest: true,
    chunkSizeWarningLimit: 1500,
  },
  server: { proxy: { "/danlu": { target: process.env["DANLU_SERVER"] ?? "http://127.0.0.1:7070", ws: true } } },
});
