// Workers KV for `cargo xtask edge serve`: the HTTP protocol that workerd's kvNamespace binding speaks, answered from
// one SQLite-backed Durable Object. Strongly consistent, unlike KV in production.
import { DurableObject } from "cloudflare:workers";

const MAX_KEY_BYTES = 512;
const MAX_VALUE_BYTES = 25 * 1024 * 1024;
const MIN_TTL_SECONDS = 60;
const MAX_LIST = 1000;
// A row of SQLite storage holds at most 2 MB, so values are kept in pieces.
const PIECE_BYTES = 1_000_000;
const now = () => Math.floor(Date.now() / 1000);

export default {
  fetch(request, env) {
    return env.STORE.get(env.STORE.idFromName("namespace")).fetch(request);
  },
};

export class Store extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec("CREATE TABLE IF NOT EXISTS entry(key TEXT PRIMARY KEY, metadata TEXT, expires INTEGER) WITHOUT ROWID");
    this.sql.exec("CREATE TABLE IF NOT EXISTS piece(key TEXT, n INTEGER, bytes BLOB, PRIMARY KEY(key, n)) WITHOUT ROWID");
  }

  async fetch(request) {
    const url = new URL(request.url);
    const name = url.pathname.slice(1);
    if (request.method === "POST" && name === "bulk/get") return this.bulkGet(await request.json());
    if (request.method === "GET" && name === "") return this.list(url.searchParams);
    const key = url.searchParams.has("urlencoded") ? decodeURIComponent(name) : name;
    if (request.method === "GET") return this.get(key);
    if (request.method === "PUT") return this.put(key, url.searchParams, request);
    if (request.method === "DELETE") return this.delete(key);
    return new Response("method not allowed", { status: 405 });
  }

  live(key) {
    const rows = this.sql.exec("SELECT metadata, expires FROM entry WHERE key = ? AND (expires IS NULL OR expires > ?)", key, now());
    return rows.toArray()[0];
  }

  body(key) {
    return this.sql.exec("SELECT bytes FROM piece WHERE key = ? ORDER BY n", key).toArray().map((row) => row.bytes);
  }

  get(key) {
    const entry = this.live(key);
    if (!entry) return new Response("not found", { status: 404 });
    const headers = {};
    if (entry.metadata !== null) headers["CF-KV-Metadata"] = entry.metadata;
    if (entry.expires !== null) headers["CF-Expiration"] = String(entry.expires);
    return new Response(new Blob(this.body(key)), { headers });
  }

  async bulkGet({ keys, type, withMetadata }) {
    const answer = {};
    for (const key of keys) {
      const entry = this.live(key);
      const text = entry ? await new Blob(this.body(key)).text() : null;
      const value = text !== null && type === "json" ? JSON.parse(text) : text;
      const metadata = entry?.metadata ? JSON.parse(entry.metadata) : null;
      answer[key] = withMetadata && entry ? { value, metadata } : value;
    }
    return Response.json(answer);
  }

  async put(key, parameters, request) {
    // First of all: workerd waits until somebody has read the body, even when the answer is a refusal.
    const body = new Uint8Array(await request.arrayBuffer());
    if (new TextEncoder().encode(key).length > MAX_KEY_BYTES) return new Response("key too long", { status: 414 });
    const metadata = request.headers.get("CF-KV-Metadata");
    if (metadata !== null && metadata.length > 1024) return new Response("metadata too large", { status: 413 });
    const ttl = parameters.get("expiration_ttl");
    if (ttl !== null && Number(ttl) < MIN_TTL_SECONDS) return new Response("expiration too early", { status: 400 });
    const at = parameters.get("expiration");
    const expires = ttl !== null ? now() + Number(ttl) : at !== null ? Number(at) : null;
    if (body.length > MAX_VALUE_BYTES) return new Response("value too large", { status: 413 });
    this.ctx.storage.transactionSync(() => {
      this.remove(key);
      this.sql.exec("INSERT INTO entry VALUES (?, ?, ?)", key, metadata, expires);
      for (let n = 0; n * PIECE_BYTES < body.length; n++) {
        this.sql.exec("INSERT INTO piece VALUES (?, ?, ?)", key, n, body.slice(n * PIECE_BYTES, (n + 1) * PIECE_BYTES));
      }
    });
    await this.expireNext();
    return new Response();
  }

  delete(key) {
    this.ctx.storage.transactionSync(() => this.remove(key));
    return new Response();
  }

  remove(key) {
    this.sql.exec("DELETE FROM entry WHERE key = ?", key);
    this.sql.exec("DELETE FROM piece WHERE key = ?", key);
  }

  // Keys are ordered by code point here and by UTF-8 bytes in production, which is the same order. A cursor is the
  // last key of the page before.
  list(parameters) {
    const limit = Math.min(Number(parameters.get("key_count_limit") ?? MAX_LIST) || MAX_LIST, MAX_LIST);
    const prefix = parameters.get("prefix") ?? "";
    const cursor = parameters.get("cursor");
    const after = cursor ? decodeURIComponent(atob(cursor)) : "";
    const rows = this.sql
      .exec(
        "SELECT key, metadata, expires FROM entry WHERE key > ? AND substr(key, 1, length(?)) = ? " +
          "AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT ?",
        after, prefix, prefix, now(), limit + 1,
      )
      .toArray();
    const complete = rows.length <= limit;
    const keys = rows.slice(0, limit).map((row) => ({
      name: row.key,
      ...(row.expires !== null && { expiration: row.expires }),
      ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) }),
    }));
    const next = complete ? {} : { cursor: btoa(encodeURIComponent(keys.at(-1).name)) };
    return Response.json({ keys, list_complete: complete, ...next });
  }

  async expireNext() {
    const [{ due }] = this.sql.exec("SELECT min(expires) AS due FROM entry").toArray();
    if (due !== null) await this.ctx.storage.setAlarm(due * 1000);
  }

  async alarm() {
    const gone = this.sql.exec("SELECT key FROM entry WHERE expires <= ? LIMIT 500", now()).toArray();
    this.ctx.storage.transactionSync(() => gone.forEach((row) => this.remove(row.key)));
    await this.expireNext();
  }
}
