// For Workers: the bundle brings the module along, since Workers may not compile one.
import module from './heliograph_bg.wasm';
import { initSync } from './heliograph.js';

initSync({ module });

export * from './surface.js';
