// Three calls with the types of openapi-typescript: node typed.js BASE_URL
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

const client = createClient<paths>({ baseUrl: process.argv[2] });
const agent = await client.POST('/v1/agent/register', { body: { capabilities: ['reading'] } });
assert.ok(agent.data?.did.startsWith('did:'));
const check = await client.GET('/v1/accessibility/check', {
  params: { query: { domain: 'telegram.org', country: 'KE' } },
});
assert.equal(check.data?.country, 'KE');
const summary = await client.GET('/v1/measurement/summary', { params: { query: { format: 'json' } } });
// It could be CSV, by `format`.
assert.ok(typeof summary.data === 'object' && summary.data.window_days > 0);
console.log('called');
