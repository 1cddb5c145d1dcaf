// Opens pages of a server in Firefox, over WebDriver BiDi: node --experimental-websocket firefox.mjs BASE_URL
//
// Twice: as Firefox is, and as Tor Browser at its safest setting has it, without scripts and without SVG. Nothing may be too
// wide at 320 pixels, and the browser may complain of nothing: no policy that is broken, no style that it cannot read.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [base] = process.argv.slice(2);
const PAGES = ["/", "/country/KE", "/site/telegram.org", "/site/telegram.org/KE",
  "/site/telegram.org/KE?as_of=2023-11-20", "/country/KE?as_of=2023-11-20", "/country/ZZ"];
const WIDTH = 320;
const QUIET = {
  "app.update.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "remote.active-protocols": 1,
  "services.settings.server": "http://127.0.0.1:9",
  "toolkit.telemetry.enabled": false,
};
const SAFEST = { "svg.disabled": true, "javascript.enabled": false };

const failures = [];
const fail = (what) => {
  failures.push(what);
  console.error(what);
};

/** Firefox with a profile of its own, and a connection to it. */
async function start(settings) {
  const profile = mkdtempSync(join(tmpdir(), "heliograph-firefox-"));
  const lines = Object.entries({ ...QUIET, ...settings }).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  writeFileSync(join(profile, "user.js"), lines.join("\n"));
  const program = spawn(process.env.FIREFOX, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]);
  const ended = new Promise((resolve) => program.on("exit", resolve));
  process.on("exit", () => program.kill("SIGKILL"));
  const address = await new Promise((resolve, reject) => {
    let said = "";
    program.stderr.on("data", (bytes) => {
      said += bytes;
      const found = said.match(/WebDriver BiDi listening on (ws:\S+)/);
      if (found) resolve(found[1]);
    });
    ended.then(() => reject(new Error(`Firefox ended: ${said}`)));
  });
  const socket = new WebSocket(`${address}/session`);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("Firefox takes no connection"));
  });
  const waiting = new Map();
  const firefox = { heard: () => {} };
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === "event") return firefox.heard(message);
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.type === "success") resolve(message.result);
    else reject(new Error(`${message.error}: ${message.message}`));
  };
  let number = 0;
  firefox.send = (method, params) => {
    const id = ++number;
    const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    socket.send(JSON.stringify({ id, method, params }));
    return answer;
  };
  firefox.stop = async () => {
    await firefox.send("browser.close", {}).catch(() => {});
    const late = setTimeout(() => program.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(late);
    rmSync(profile, { recursive: true, force: true });
  };
  await firefox.send("session.new", { capabilities: {} });
  return firefox;
}

/** The width of a PNG that is in base64. */
const widthOf = (png) => Buffer.from(png, "base64").readUInt32BE(16);

async function look(name, settings) {
  const firefox = await start(settings);
  let open = "";
  firefox.heard = ({ method, params }) => {
    if (method === "log.entryAdded") fail(`${name} ${open}: ${params.level}: ${params.text}`);
    // The icon of the tab is no part of the load: the browser drops a request for it when it goes on to the next page.
    if (method === "network.fetchError" && params.errorText !== "NS_BINDING_ABORTED") fail(`${name} ${open}: ${params.request.url}: ${params.errorText}`);
  };
  await firefox.send("session.subscribe", { events: ["log.entryAdded", "network.fetchError"] });
  const { contexts } = await firefox.send("browsingContext.getTree", {});
  const { context } = contexts[0];
  await firefox.send("browsingContext.setViewport", { context, viewport: { width: WIDTH, height: 800 } });
  for (const language of ["", "/fr", "/ar"]) {
    for (const page of PAGES) {
      open = language + (page === "/" && language ? "" : page);
      await firefox.send("browsingContext.navigate", { context, url: base + open, wait: "complete" });
      // A picture of the whole document needs no script in the page.
      const { data } = await firefox.send("browsingContext.captureScreenshot", { context, origin: "document" });
      const width = widthOf(data);
      if (width > WIDTH) fail(`${name} ${open} is ${width - WIDTH} pixels too wide`);
    }
  }
  await firefox.stop();
}

await look("Firefox", {});
await look("Firefox without scripts and SVG", SAFEST);
if (failures.length > 0) {
  console.error(`${failures.length} failures`);
  process.exit(1);
}
console.log("Firefox shows all pages as they should be");
