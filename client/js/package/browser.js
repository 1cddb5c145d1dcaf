// For browsers: the module is fetched from beside this file.
import init from './heliograph.js';

await init({ module_or_path: new URL('./heliograph_bg.wasm', import.meta.url) });

export * from './surface.js';
