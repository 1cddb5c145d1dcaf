// For Node: the module comes from the file beside this one.
import { readFileSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { initSync } from './heliograph.js';

initSync({ module: readFileSync(new URL('./heliograph_bg.wasm', import.meta.url)) });

// Keeps each value in a file that only its owner can read: written under another name, flushed, and renamed. Only one
// program may use a folder at a time.
export class FileStore {
  constructor(folder) {
    this.folder = folder;
  }
  #path(name) {
    // A name can hold what a service made up. Nothing of it may lead out of the folder.
    return join(this.folder, `${encodeURIComponent(name).replaceAll('.', '%2E')}.value`);
  }
  async read(name) {
    try {
      return await readFile(this.#path(name));
    } catch (error) {
      if (error.code === 'ENOENT') return null;
      throw error;
    }
  }
  async write(name, value) {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const fresh = `${this.#path(name)}.new`;
    const file = await open(fresh, 'w', 0o600);
    try {
      await file.writeFile(value);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, this.#path(name));
  }
  async remove(name) {
    await rm(this.#path(name), { force: true });
  }
}

export * from './surface.js';
