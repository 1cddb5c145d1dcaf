// For Node: the module comes from the file beside this one.
import { readFileSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { initSync } from './heliograph.js';
import { claim, free } from './owner.js';

initSync({ module: readFileSync(new URL('./heliograph_bg.wasm', import.meta.url)) });

// Keeps each value in a file that only its owner can read: written under another name, flushed, and renamed. Only one
// store may use a folder at a time, because two that step one session would use a key twice.
export class FileStore {
  #owner;
  #closed = false;
  #writes = 0;
  constructor(folder) {
    this.folder = folder;
  }
  // The first use makes this store the owner of the folder, until `close` or the end of the process.
  async #own() {
    if (this.#closed) throw new Error(`the store of ${this.folder} is closed`);
    if (this.#owner) return;
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    // Another call may have come first.
    this.#owner ??= claim(this.folder);
  }
  #path(name) {
    // A name can hold what a service made up. Nothing of it may lead out of the folder.
    return join(this.folder, `${encodeURIComponent(name).replaceAll('.', '%2E')}.value`);
  }
  async read(name) {
    await this.#own();
    try {
      return await readFile(this.#path(name));
    } catch (error) {
      if (error.code === 'ENOENT') return null;
      throw error;
    }
  }
  async write(name, value) {
    await this.#own();
    // Each write has a file of its own, since two of one name may be under way.
    const fresh = `${this.#path(name)}.${(this.#writes += 1)}.new`;
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
    await this.#own();
    await rm(this.#path(name), { force: true });
  }
  close() {
    this.#closed = true;
    if (this.#owner) free(this.#owner);
    this.#owner = undefined;
  }
}

export * from './surface.js';
