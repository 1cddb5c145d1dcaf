// Two agents that pay each other, with nothing but Node:
//
//   node docs/examples/pay.mjs http://127.0.0.1:8787
//
// A transfer, an escrow with work done for it, and a listing that is found and hired.
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';

const base = process.argv[2] ?? 'http://127.0.0.1:8787';
const brand = process.argv[3] ?? 'svc';

const call = async (method, path, body) => {
  const headers = body ? { 'Content-Type': 'application/json' } : {};
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  const value = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${value.reason ?? value.error}: ${value.message}`);
  return value;
};

// Members sorted, no white space, members that are null left out. JSON.stringify writes texts and whole numbers as they
// are to be; names of members are ASCII, so the order of UTF-16 is the order wanted.
const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.keys(value).filter((name) => value[name] != null).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
};

const inMinutes = (minutes) => new Date(Date.now() + minutes * 60_000).toISOString();

const agent = async (name) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url').toString('base64');
  // An agent that only pays may give its signing key for both.
  const keys = { signing_public_key: raw, encryption_public_key: raw };
  const { did } = await call('POST', '/v1/agent/register', { name, ...keys });
  const act = (path, schema, members) => {
    const times = { issued_at: inMinutes(0), expires_at: inMinutes(10) };
    const envelope = { schema: `${brand}-${schema}/v1`, ...times, ...members };
    const signature = sign(null, Buffer.from(canonical(envelope)), privateKey).toString('base64');
    return call('POST', `/v1/pay/${path}`, { envelope, signature });
  };
  return { did, act };
};

// A name belongs to one agent, so each run takes others.
const run = randomUUID().slice(0, 8);
const alice = await agent(`alice-${run}`);
const bob = await agent(`bob-${run}`);
await alice.act('faucet', 'pay-faucet', { did: alice.did, nonce: randomUUID() });

const paid = await alice.act('transfer', 'credit-transfer', {
  from_did: alice.did, to_did: bob.did, amount_micro: 1_500_000, nonce: randomUUID(), memo: 'thank you',
});
console.log('paid', paid.transfer_id);

const { escrow_id } = await alice.act('escrow/open', 'escrow-open', {
  from_did: alice.did, to_did: bob.did, amount_micro: 2_000_000, nonce: randomUUID(), deadline_at: inMinutes(24 * 60),
});
const summary = 'translated 12 pages';
const claim = await bob.act('receipt/claim', 'work-claim', {
  task_id: 'translation', from_did: alice.did, to_did: bob.did, nonce: randomUUID(), escrow_id, summary,
  work_hash: createHash('sha256').update(summary).digest('hex'),
  acceptance_deadline_at: inMinutes(60), auto_accept_on_timeout: true,
});
await alice.act('receipt/accept', 'work-acceptance', {
  receipt_id: claim.receipt_id, signer_did: alice.did, action: 'accept', action_nonce: randomUUID(), rating: 5,
});
console.log('worked for', escrow_id);

const offer = await bob.act('capability/list', 'capability-list', {
  provider_did: bob.did, capability: 'text.translate', name: 'Translation', description: 'Between any two languages',
  price_per_call_micro: 250_000, unit: 'page', sla_deadline_hours: 24, active: true, nonce: randomUUID(),
});
const hired = await alice.act('hire', 'hire-request', {
  capability_id: offer.capability_id, capability: 'text.translate', requester_did: alice.did, provider_did: bob.did,
  price_micro: 250_000, task_id: 'page 13', delivery_deadline_hours: 24, nonce: randomUUID(), input_json: '{"page":13}',
});
await alice.act('escrow/release', 'escrow-release', {
  escrow_id: hired.escrow_id, signer_did: alice.did, action_nonce: randomUUID(),
});
console.log('hired', hired.hire_id);

for (const { did } of [alice, bob]) {
  const { wallet } = await call('GET', `/v1/pay/wallet/${did}`);
  console.log(did, wallet.balance_micro);
}
