// Calls the Worker's scheduled handler, as the platform does once a minute: `POST /?cron=<expression>`.
export default {
  async fetch(request, env) {
    if (request.method !== "POST") return new Response("POST /?cron=<expression>", { status: 405 });
    const cron = new URL(request.url).searchParams.get("cron") ?? "* * * * *";
    const { outcome } = await env.WORKER.scheduled({ cron, scheduledTime: new Date() });
    return Response.json({ outcome }, { status: outcome === "ok" ? 200 : 500 });
  },
};
