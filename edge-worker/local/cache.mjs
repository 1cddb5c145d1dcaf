// The Cache API for `cargo xtask edge serve`: the HTTP protocol that workerd speaks to the service behind it. Entries
// live in memory, as long as their Cache-Control says.
const MOST = 1_000;
const entries = new Map();

export default {
  async fetch(request) {
    if (request.method === "PUT") return put(request.url, new Uint8Array(await request.arrayBuffer()));
    const entry = entries.get(request.url);
    if (!entry || entry.until <= Date.now()) return new Response(null, { status: 504, headers: { "CF-Cache-Status": "MISS" } });
    return new Response(entry.body, { headers: { ...entry.headers, "CF-Cache-Status": "HIT" } });
  },
};

// The body of a PUT is a whole answer, as HTTP writes it.
function put(url, bytes) {
  const text = new TextDecoder("latin1").decode(bytes);
  const end = text.indexOf("\r\n\r\n");
  const [, ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => {
    const [name, value] = line.split(/:(.*)/s);
    return [name.toLowerCase(), value.trim()];
  }));
  const seconds = Number(/max-age=(\d+)/.exec(headers["cache-control"] ?? "")?.[1] ?? 0);
  if (headers["transfer-encoding"]) return new Response("only bodies of known length", { status: 400 });
  if (entries.size >= MOST) entries.clear();
  entries.set(url, { body: bytes.slice(end + 4), headers, until: Date.now() + seconds * 1000 });
  return new Response(null, { status: 204 });
}
