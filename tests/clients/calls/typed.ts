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
const counts = await client.GET('/api/v1/aggregation', { params: { query: { probe_cc: 'KE', axis_x: 'probe_asn' } } });
// It could be CSV, by `format`.
assert.ok(typeof counts.data === 'object' && counts.data.dimension_count === 1);
assert.deepEqual(counts.data.result, []);
console.log('called');
