// node run.mjs BASE_URL PROGRAM: the official clients of the Model Context Protocol ask a running service, with and without a
// handshake, over HTTP and through `PROGRAM mcp` over standard input and output. Prints one line per check; the exit code is 1
// when one failed.
import assert from 'node:assert/strict';
import * as current from '@modelcontextprotocol/client';
import { StdioClientTransport as CurrentStdio } from '@modelcontextprotocol/client/stdio';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as EarlierStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as EarlierHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [base, program] = process.argv.slice(2);
assert.ok(base?.startsWith('http') && program, 'usage: node run.mjs http://127.0.0.1:8787 target/debug/heliograph');

let failed = 0;
const check = async (name, body) => {
  try {
    await body();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n      ${String(error.stack ?? error).replaceAll('\n', '\n      ')}`);
  }
};

const address = new URL('/mcp', base);
const self = { name: 'heliograph-tests', version: '1.0.0' };

const headers = (key) => (key ? { requestInit: { headers: { 'X-Agent-Key': key } } } : undefined);
const started = (key) => ({
  command: program,
  args: ['mcp', '--url', base],
  env: key ? { HELIOGRAPH_AGENT_KEY: key } : {},
});

const stateless = () => new current.Client(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
const choosing = () => new current.Client(self, { versionNegotiation: { mode: 'auto' } });
const withHandshake = () => new current.Client(self);
const earlier = () => new EarlierClient(self);

const http = (key) => new current.StreamableHTTPClientTransport(address, headers(key));
const clients = {
  'client 2, no handshake': [stateless, http],
  'client 2, choosing': [choosing, http],
  'client 2, handshake': [withHandshake, http],
  'client 1': [earlier, (key) => new EarlierHttp(address, headers(key))],
  'client 2, no handshake, standard input': [stateless, (key) => new CurrentStdio(started(key))],
  'client 2, choosing, standard input': [choosing, (key) => new CurrentStdio(started(key))],
  'client 1, standard input': [earlier, (key) => new EarlierStdio(started(key))],
};

const connected = async ([make, transport], key, body) => {
  const client = make();
  await client.connect(transport(key));
  try {
    await body(client);
  } finally {
    await client.close();
  }
};

const agent = async () => {
  const answer = await fetch(new URL('/v1/agent/register', base), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  });
  assert.equal(answer.status, 201);
  return answer.json();
};

for (const [name, client] of Object.entries(clients)) {
  await check(`tools of ${name}`, () =>
    connected(client, undefined, async (client) => {
      assert.equal(client.getServerVersion().name, 'heliograph');
      const { tools } = await client.listTools();
      assert.ok(tools.length >= 9 && tools.every((tool) => tool.inputSchema.additionalProperties === false));
      const answer = await client.callTool({ name: 'check', arguments: { domain: 'never.example', country: 'KE' } });
      assert.equal(answer.isError, undefined);
      assert.match(answer.content[0].text, /has not been measured in Kenya/);
      assert.equal(answer.structuredContent.status, 'unknown');
      const wrong = await client.callTool({ name: 'check', arguments: { domain: 'never.example', country: 'Kenya' } });
      assert.equal(wrong.isError, true);
      assert.equal(wrong.structuredContent.error, 'BAD_REQUEST');
      await assert.rejects(client.callTool({ name: 'no-such', arguments: {} }), /no tool/);
    }),
  );
  await check(`resources of ${name}`, () =>
    connected(client, undefined, async (client) => {
      const { resources } = await client.listResources();
      assert.ok(resources.length >= 2, 'the method and an incident');
      for (const { uri } of resources) {
        const { contents } = await client.readResource({ uri });
        assert.ok(contents[0].uri === uri && contents[0].text.length > 100, uri);
      }
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.match(resourceTemplates[0].uriTemplate, /\{id\}/);
      await assert.rejects(client.readResource({ uri: 'test://nothing' }), /no resource/);
    }),
  );
  await check(`messages of ${name}`, async () => {
    const [alice, bob] = [await agent(), await agent()];
    await connected(client, alice.api_key, async (client) => {
      const { tools } = await client.listTools();
      assert.ok(tools.some((tool) => tool.name === 'send'));
      const sent = await client.callTool({ name: 'send', arguments: { to: bob.did, message: `from ${name} \u{1F600}` } });
      assert.equal(sent.structuredContent.to, bob.did);
    });
    await connected(client, bob.api_key, async (client) => {
      const { structuredContent } = await client.callTool({ name: 'receive', arguments: {} });
      assert.deepEqual(
        structuredContent.messages.map(({ from, content }) => ({ from, content })),
        [{ from: alice.did, content: `from ${name} \u{1F600}` }],
      );
    });
  });
}

await check('many calls at once over standard input', () =>
  connected(clients['client 2, no handshake, standard input'], undefined, async (client) => {
    const countries = ['KE', 'UG', 'TZ', 'ET', 'RW', 'BI', 'SS', 'SO', 'DJ', 'ER', 'SD', 'CD'];
    const answers = await Promise.all(
      countries.map((country) => client.callTool({ name: 'check', arguments: { domain: 'never.example', country } })),
    );
    assert.deepEqual(answers.map((answer) => answer.structuredContent.country), countries);
  }),
);

process.exit(failed ? 1 : 0);
