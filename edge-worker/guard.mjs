// The Worker's main module. It answers for a request whose wasm instance died.
//
// A panic in wasm (built with panic=abort) ends the instance in the middle of a request: the promise that the runtime
// waits for is then never settled, and the client would wait for ever. Two things end that wait:
//   - the trap itself, which the runtime reports as an `error` event: every request in flight in this isolate fails
//     at once with 500, since all of them ran in the instance that died;
//   - a time limit, for any other reason not to answer: 504. It covers the time to the response head, so a stream of
//     events or a WebSocket may stay open as long as it likes.
// The build's own shim starts a fresh instance for the next request.
import { WorkerEntrypoint } from "cloudflare:workers";
import Inner, * as inner from "./index.js";

const DEFAULT_LIMIT_MS = 30_000;
const TRAPPED = Symbol("trapped");
const LATE = Symbol("late");

const inFlight = new Set();

addEventListener("error", (event) => {
  if (event.error instanceof WebAssembly.RuntimeError) {
    for (const end of inFlight) end(TRAPPED);
  }
});

async function bounded(env, run) {
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  inFlight.add(end);
  const limit = Number(env.HELIOGRAPH_REQUEST_LIMIT_MS) || DEFAULT_LIMIT_MS;
  const timer = setTimeout(end, limit, LATE);
  try {
    const outcome = await Promise.race([run(), ended]);
    if (outcome === TRAPPED) return failure(500, "the request could not be completed");
    if (outcome === LATE) return failure(504, "the request took too long");
    return outcome;
  } catch (error) {
    console.error("request failed", error);
    return failure(500, "the request could not be completed");
  } finally {
    clearTimeout(timer);
    inFlight.delete(end);
  }
}

function failure(status, message) {
  const headers = { "Access-Control-Allow-Origin": "*", "Cache-Control": "no-store" };
  return Response.json({ error: "INTERNAL", message }, { status, headers });
}

export default class Guard extends WorkerEntrypoint {
  fetch(request) {
    return bounded(this.env, () => new Inner(this.ctx, this.env).fetch(request));
  }

  scheduled(controller) {
    return new Inner(this.ctx, this.env).scheduled(controller);
  }
}

export class Actor {
  #env;
  #actor;

  constructor(ctx, env) {
    this.#env = env;
    this.#actor = new inner.Actor(ctx, env);
  }

  fetch(request) {
    return bounded(this.#env, () => this.#actor.fetch(request));
  }

  alarm(info) {
    return this.#actor.alarm(info);
  }

  webSocketMessage(socket, message) {
    return this.#actor.webSocketMessage(socket, message);
  }

  webSocketClose(socket, code, reason, wasClean) {
    return this.#actor.webSocketClose(socket, code, reason, wasClean);
  }

  webSocketError(socket, error) {
    return this.#actor.webSocketError(socket, error);
  }
}
