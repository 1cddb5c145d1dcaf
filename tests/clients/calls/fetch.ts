// Three calls of the generated client for fetch: node fetch.js BASE_URL
import assert from 'node:assert/strict';
import { AccessibilityApi, AgentsApi, Configuration, MeasurementsApi } from './client/index.js';

const configuration = new Configuration({ basePath: process.argv[2] });
const agent = await new AgentsApi(configuration).registerAgent({ registerRequest: { capabilities: ['reading'] } });
assert.ok(agent.did.startsWith('did:') && agent.apiKey);
const check = await new AccessibilityApi(configuration).checkAccessibility({ domain: 'telegram.org', country: 'KE' });
assert.equal(check.country, 'KE');
const counts = await new MeasurementsApi(configuration).aggregateMeasurements({ probeCc: 'KE', axisX: 'probe_asn' });
assert.equal(counts.dimensionCount, 1);
assert.deepEqual(counts.result, []);
console.log('called');
