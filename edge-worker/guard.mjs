// The Worker's main module. It answers for a request whose wasm instance died.
//
// A panic in wasm (built with panic=abort) ends the instance in the middle of a request: the promise that the runtime
// waits for is then never settled, and the client would wait for ever. Two things end that wait:
//   - the trap itself, which the runtime reports as an `error` event: every request in flight in this isolate fails
//     at once with 500, since all of them ran in the instance that died;
//   - a time limit, for any other reason not to answer: 503. It covers the time to the response head, so a stream of
//     events or a WebSocket may stay open as long as it likes.
// An alarm that ends so is reported as failed, and the platform tries it again. The build's own shim starts a fresh
// instance for the next request.
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

// Turns of the queue of microtasks in which an answer that waits for nothing is there. A timer costs more than these.
const AT_ONCE = 32;

// The outcome of `run`, or TRAPPED or LATE.
async function bounded(env, run) {
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  inFlight.add(end);
  let timer;
  try {
    let settled = false;
    const running = run().finally(() => (settled = true));
    for (let turn = 0; turn < AT_ONCE && !settled; turn++) await null;
    if (settled) return await running;
    const limit = Number(env.HELIOGRAPH_REQUEST_LIMIT_MS) || DEFAULT_LIMIT_MS;
    timer = setTimeout(end, limit, LATE);
    return await Promise.race([running, ended]);
  } finally {
    clearTimeout(timer);
    inFlight.delete(end);
  }
}

async function answered(env, run) {
  try {
    const outcome = await bounded(env, run);
    if (outcome === LATE) return late();
    if (outcome !== TRAPPED) return outcome;
  } catch (error) {
    console.error("request failed", error);
  }
  return failure(500, "INTERNAL", "The service failed to handle this request; retry with backoff.");
}

async function finished(env, run) {
  const outcome = await bounded(env, run);
  if (outcome === TRAPPED || outcome === LATE) throw new Error(`the handler did not finish: ${outcome.description}`);
}

function late() {
  const message = "Temporarily unavailable; retry after the stated time.";
  return failure(503, "UNAVAILABLE", message, { "Retry-After": "1" });
}

function failure(status, error, message, more) {
  const headers = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Retry-After",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...more,
  };
  return Response.json({ error, message }, { status, headers });
}

export default class Guard extends WorkerEntrypoint {
  fetch(request) {
    return answered(this.env, () => new Inner(this.ctx, this.env).fetch(request));
  }

  scheduled(controller) {
    return finished(this.env, () => new Inner(this.ctx, this.env).scheduled(controller));
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
    return answered(this.#env, () => this.#actor.fetch(request));
  }

  alarm(info) {
    return finished(this.#env, () => this.#actor.alarm(info));
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
