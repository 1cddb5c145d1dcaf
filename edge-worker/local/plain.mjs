// The smallest Worker and object to compare with: one INSERT for a POST to /store/<object>, and the bytes of a PUT from
// memory for a GET of the same path.
import { DurableObject } from "cloudflare:workers";

const kept = new Map();

export class Plain extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, body TEXT)");
  }

  async fetch(request) {
    this.ctx.storage.sql.exec("INSERT INTO messages (body) VALUES (?)", await request.text());
    return Response.json({ stored: true }, { status: 201 });
  }
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (request.method === "POST") return env.PLAIN.get(env.PLAIN.idFromName(pathname)).fetch(request);
    if (request.method === "PUT") kept.set(pathname, await request.arrayBuffer());
    return new Response(kept.get(pathname) ?? "ok", { headers: { "content-type": "application/json" } });
  },
};
