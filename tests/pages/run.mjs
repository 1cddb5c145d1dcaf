// Opens the pages of a server in a real browser: node run.mjs BASE_URL [FOLDER]
//
// Every page is looked at by axe in light and dark, from 320 pixels to wide, with scripts switched off for the page itself. A
// journalist's questions are clicked through from the first page. With a folder, a picture of every page is written there.

import { mkdirSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [base, folder] = process.argv.slice(2);
const AXE = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
/// The largest first view, in bytes as they are sent.
const FIRST_VIEW = 60 * 1024;

const PAGES = [
  "/", "/country/KE", "/site/telegram.org", "/site/telegram.org/KE", "/site/telegram/KE", "/incidents", "/open-data", "/method", "/about",
  "/api-key", "/guide/journalist", "/guide/agent", "/country/ZZ",
];
const ONLY_ENGLISH = ["/docs", "/docs/checkAccessibility"];

const failures = [];
const fail = (what) => {
  failures.push(what);
  console.error(what);
};

const browser = await chromium.launch({
  executablePath: EXECUTABLE,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

/** What axe finds wrong with a page. It runs in the browser's own world, so the page's policy stays as it is. */
async function violations(page) {
  const client = await page.context().newCDPSession(page);
  const { frameTree } = await client.send("Page.getFrameTree");
  const { executionContextId } = await client.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
  const run = (expression, awaitPromise = false) =>
    client.send("Runtime.evaluate", { expression, contextId: executionContextId, awaitPromise, returnByValue: true });
  await run(AXE);
  const { result, exceptionDetails } = await run("axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations.map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')))", true);
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

function path(language, page) {
  if (language === "en") return page;
  return page === "/" ? `/${language}` : `/${language}${page}`;
}

const incident = await fetch(`${base}/data/incidents?limit=1`).then((answer) => answer.json());
const pages = [...PAGES, ...incident.incidents.map((one) => `/incident/${one.readableId}`)];

for (const language of ["en", "ar", "fr"]) {
  for (const [scheme, width] of [["light", 1280], ["dark", 360], ["light", 320]]) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 900 } });
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && !message.text().includes("404") && fail(`${page.url()}: ${message.text()}`));
    for (const one of [...pages, ...(language === "en" ? ONLY_ENGLISH : [])]) {
      await page.goto(base + path(language, one));
      for (const found of await violations(page)) fail(`${language} ${scheme} ${width} ${one}: ${found}`);
      const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      if (wide > 0) fail(`${language} ${width} ${one} is ${wide} pixels too wide`);
      const images = await page.evaluate("[...document.images].filter((image) => image.complete && !image.naturalWidth).map((image) => image.src)");
      if (images.length > 0) fail(`${one}: no image at ${images}`);
      if (folder) {
        mkdirSync(folder, { recursive: true });
        const name = `${language}-${scheme}-${width}${one.replaceAll("/", "-")}`;
        await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
      }
    }
    await context.close();
  }
}

// The questions of a journalist, by clicking, with scripts off.
const context = await browser.newContext({ javaScriptEnabled: false });
const page = await context.newPage();
let sent = 0;
page.on("response", async (response) => {
  const sizes = await response.request().sizes().catch(() => undefined);
  sent += sizes ? sizes.responseBodySize + sizes.responseHeadersSize : 0;
});
await page.goto(base, { waitUntil: "networkidle" });
if (sent > FIRST_VIEW) fail(`the first view is ${sent} bytes`);
console.log(`first view: ${sent} bytes`);
await page.fill("#site", "telegram.org");
await page.selectOption("#country", "KE");
await page.click("form.ask button");
await page.waitForURL("**/site/telegram.org/KE");
for (const heading of ["#since", "#networks", "#how", "#numbers"]) {
  if ((await page.locator(heading).count()) !== 1) fail(`${heading} is missing`);
}
const link = page.locator("a[href*='/incident/KE-']").first();
if ((await link.count()) === 1) {
  await link.click();
  for (const text of ["APA", "MLA", "Chicago", "BibTeX", "RIS"]) {
    if (!(await page.content()).includes(text)) fail(`no citation in ${text}`);
  }
} else {
  console.log("no incident in Kenya: its citation was not looked at");
}
// The keyboard: the first stop leads to the content.
await page.goto(base);
await page.keyboard.press("Tab");
const focused = await page.locator(":focus").getAttribute("href");
if (focused !== "#main") fail(`the first stop of the keyboard is ${focused}`);

await browser.close();
if (failures.length > 0) {
  console.error(`${failures.length} failures`);
  process.exit(1);
}
console.log("all pages are as they should be");
