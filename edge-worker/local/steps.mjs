// The Worker's main module for `cargo xtask edge steps`: says when each event begins and ends. The platform limits the
// CPU of one event: a request, a request between objects, an alarm, a cron trigger.
import Guard, { Actor as Guarded } from "./guard.mjs";

let last = 0;

async function told(kind, run) {
  const number = ++last;
  console.log(`step begin ${number} ${kind}`);
  try {
    return await run();
  } finally {
    console.log(`step end ${number}`);
  }
}

const path = (request) => `${request.method} ${new URL(request.url).pathname}`;

export default class extends Guard {
  fetch(request) {
    return told(path(request), () => super.fetch(request));
  }

  scheduled(controller) {
    return told("cron", () => super.scheduled(controller));
  }
}

export class Actor extends Guarded {
  fetch(request) {
    return told(`object ${path(request)}`, () => super.fetch(request));
  }

  alarm(info) {
    return told("alarm", () => super.alarm(info));
  }
}
