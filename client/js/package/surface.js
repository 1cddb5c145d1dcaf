// What all platforms have in common.
import { Agent, Client, Listener, verifyWebhook } from './heliograph.js';

// `for await (const message of agent.listen())`
Listener.prototype[Symbol.asyncIterator] = async function* () {
  for (let message; (message = await this.next()) !== undefined; ) yield message;
};

// Keeps an agent in `localStorage`. Every script of the page's origin can read it.
export class LocalStore {
  constructor(prefix) {
    this.prefix = prefix;
  }
  read(name) {
    const text = localStorage.getItem(`${this.prefix}/${name}`);
    return text === null ? null : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  }
  write(name, value) {
    localStorage.setItem(`${this.prefix}/${name}`, btoa(String.fromCharCode(...value)));
  }
  remove(name) {
    localStorage.removeItem(`${this.prefix}/${name}`);
  }
}

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

// Keeps an agent in a database of the browser. A write is on the disk when its promise is kept.
export class IndexedDbStore {
  constructor(database) {
    this.database = database;
  }
  async #run(mode, action) {
    if (!this.open) {
      const request = indexedDB.open(this.database, 1);
      request.onupgradeneeded = () => request.result.createObjectStore('values');
      this.open = done(request);
    }
    const transaction = (await this.open).transaction('values', mode, { durability: 'strict' });
    const ended = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
    const [result] = await Promise.all([done(action(transaction.objectStore('values'))), ended]);
    return result;
  }
  async read(name) {
    return (await this.#run('readonly', (values) => values.get(name))) ?? null;
  }
  write(name, value) {
    return this.#run('readwrite', (values) => values.put(value, name));
  }
  remove(name) {
    return this.#run('readwrite', (values) => values.delete(name));
  }
}

export { Agent, Client, Listener, verifyWebhook };
