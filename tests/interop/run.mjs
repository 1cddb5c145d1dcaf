// node run.mjs BASE_URL: agents on different cryptography write to each other through a running service, in every mode
// and both directions. Prints one line per check; the exit code is 1 when one failed.
import assert from 'node:assert/strict';
import { ClientSide, ServerSide, call, lookUp } from './agent.mjs';
import { MODE, decrypt, unb64, utf8 } from './formats.mjs';
import * as nacl from './nacl.mjs';
import * as noble from './noble.mjs';
import { ask, outcome, settle } from './tasks.mjs';
import { genuine, receiver } from './webhooks.mjs';

const [base] = process.argv.slice(2);
assert.ok(base?.startsWith('http'), 'usage: node run.mjs http://127.0.0.1:8787');

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

const MODES = {
  default: MODE,
  'without post-quantum': { ...MODE, hybrid: false },
  'without double ratchet': { ...MODE, doubleRatchet: false },
  'plain chain': { ...MODE, hybrid: false, doubleRatchet: false },
  'without padding': { ...MODE, padded: false },
  sealed: { ...MODE, sealed: true },
  deniable: { ...MODE, deniable: true },
  'sealed and deniable': { ...MODE, sealed: true, deniable: true },
};
const TEXTS = ['first', '', 'V\u0000 \u{1F980} é', 'x'.repeat(1000)];

const heard = (texts, from) => texts.map((text) => ({ text, from, genuine: true }));

const kinds = {
  [nacl.name]: () => ClientSide.register(base, nacl),
  [noble.name]: () => ClientSide.register(base, noble),
  service: () => ServerSide.register(base),
};

for (const [fromName, from] of Object.entries(kinds)) {
  for (const [toName, to] of Object.entries(kinds)) {
    // The service has one mode of writing.
    const modes = fromName === 'service' ? { box: MODE } : MODES;
    for (const [modeName, mode] of Object.entries(modes)) {
      await check(`${fromName} to ${toName}, ${modeName}, and back`, async () => {
        const [a, b] = [await from(), await to()];
        for (const text of TEXTS) await a.send(b.did, text, mode);
        assert.deepEqual(await b.receive(), heard(TEXTS, a.did));
        await b.send(a.did, 'an answer', mode);
        assert.deepEqual(await a.receive(), heard(['an answer'], b.did));
        await a.send(b.did, 'once more', mode);
        assert.deepEqual(await b.receive(), heard(['once more'], a.did));
      });
    }
  }
}

// What the service writes is a box as well; this is the other direction.
for (const fromName of [nacl.name, noble.name]) {
  for (const [toName, to] of Object.entries(kinds)) {
    await check(`a plain box by ${fromName} opens for ${toName}`, async () => {
      const [a, b] = [await kinds[fromName](), await to()];
      // Clients take text that begins with V for a header; the service does not.
      const texts = ['box', 'é \u{1F980}', ...(toName === 'service' ? ['Viva', 'V\u0000 \u{1F980}'] : [])];
      for (const text of texts) await a.route(b.did, text);
      assert.deepEqual(await b.receive(), heard(texts, a.did));
    });
  }
}

for (const [fromName, from] of Object.entries(kinds)) {
  for (const [toName, to] of Object.entries(kinds)) {
    await check(`a task from ${fromName} to ${toName}`, async () => {
      const [a, b] = [await from(), await to()];
      for (const value of [{ n: 1, text: 'é \u{1F980}' }, 'words', [], '']) {
        const id = await ask(a, b.did, value);
        await settle(b, (input) => ({ echo: input }));
        assert.deepEqual(await outcome(a, id), { value: { echo: value }, signed: true });
      }
    });
  }
}

// What an attestation says, in an order and with characters that survive only verbatim.
const CLAIM = { zulu: 1, alpha: { text: 'é \u{1F980} \u2028', list: [1.5, 1e21, -0.25] }, 10: 'ten', 2: 'two' };
for (const [fromName, from] of Object.entries(kinds)) {
  for (const [toName, to] of Object.entries(kinds)) {
    await check(`an attestation by ${fromName}, corroborated by ${toName}, verifies from what the service returns`, async () => {
      const [author, voter] = [await from(), await to()];
      const { id } = await author.attest('dns-poisoning', CLAIM, { country: 'KE', domain: 'example.org', confidence: 0.5 });
      await voter.corroborate(id, 'corroborate');
      const read = await call(base, 'GET', `/v1/agent/attestations/${id}`);
      const [vote] = read.corroborations;
      const text = utf8(read.claim_type + JSON.stringify(read.claim_data) + read.timestamp);
      assert.equal(JSON.stringify(read.claim_data), JSON.stringify(CLAIM));
      assert.deepEqual([read.agent, vote.agent, vote.vote], [author.did, voter.did, 'corroborate']);
      for (const crypto of [nacl, noble]) {
        const { signing } = await lookUp(base, author.did);
        assert.ok(crypto.verify(unb64(read.signature), text, signing));
        assert.ok(!crypto.verify(unb64(read.signature), utf8(`${read.claim_type} `), signing));
        const { signing: other } = await lookUp(base, voter.did);
        assert.ok(crypto.verify(unb64(vote.signature), utf8(id + vote.vote), other));
      }
    });
  }
}

for (const crypto of [nacl, noble]) {
  await check(`a webhook for ${crypto.name} is signed, and what it tells opens`, async () => {
    const [a, b] = [await ClientSide.register(base, crypto), await ClientSide.register(base, crypto)];
    const { url, next, close } = await receiver();
    try {
      const { secret } = await call(base, 'POST', '/v1/agent/webhooks', { key: b.key, body: { webhook_url: url } });
      await a.send(b.did, TEXTS[2], MODE);
      const request = await next();
      assert.ok(genuine(secret, request), 'both signatures');
      assert.ok(!genuine(`${secret}x`, request) && !genuine(secret, { ...request, body: `${request.body} ` }));
      const { event, message } = JSON.parse(request.body);
      assert.equal(event, 'message');
      assert.deepEqual([await decrypt(crypto, b, message, b.secrets)], heard([TEXTS[2]], a.did));
    } finally {
      close();
    }
  });
}

console.log(failed ? `${failed} failed` : 'all passed');
process.exitCode = failed ? 1 : 0;
