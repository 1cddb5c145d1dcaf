// node library.mjs BASE_URL PACKAGE: agents of the client library (the built npm package) and agents on other cryptography
// write to each other, in every mode and both directions. Prints one line per check.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { ClientSide, ServerSide } from './agent.mjs';
import { MODE } from './formats.mjs';
import * as nacl from './nacl.mjs';
import * as noble from './noble.mjs';

const [base, folder] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(`${folder}/node.js`));
const client = new Client(base);

// How the library and the others name the same mode.
const MODES = {
  default: [{}, MODE],
  'without post-quantum': [{ classical: true }, { ...MODE, hybrid: false }],
  'without padding': [{ unpadded: true }, { ...MODE, padded: false }],
  sealed: [{ sealed: true }, { ...MODE, sealed: true }],
  deniable: [{ deniable: true }, { ...MODE, deniable: true }],
  'sealed and deniable': [{ sealed: true, deniable: true }, { ...MODE, sealed: true, deniable: true }],
  box: [{ box: true }, MODE],
};
const TEXTS = ['first', '', 'V\u0000 \u{1F980} é', 'x'.repeat(1000)];
const heard = (texts, from) => texts.map((text) => ({ text, from, genuine: true }));

const received = async (agent, from, deniable) => {
  const { messages } = await agent.receive();
  await agent.markRead(messages.map(({ id }) => id));
  return messages.map(({ text, from, authentication, problem }) => {
    assert.equal(problem, null);
    return { text, from, genuine: authentication === (deniable ? 'deniable' : 'signed') };
  });
};

const kinds = {
  [nacl.name]: () => ClientSide.register(base, nacl),
  [noble.name]: () => ClientSide.register(base, noble),
  service: () => ServerSide.register(base),
};
for (const [name, register] of Object.entries(kinds)) {
  for (const [modeName, [how, mode]] of Object.entries(MODES)) {
    const [own, other] = [await client.register(), await register()];
    const deniable = name !== 'service' && mode.deniable;
    for (const text of TEXTS) await own.send(other.did, text, how);
    assert.deepEqual(await other.receive(), heard(TEXTS, own.did));
    for (const text of TEXTS) await other.send(own.did, text, mode);
    assert.deepEqual(await received(own, other.did, deniable), heard(TEXTS, other.did));
    await own.send(other.did, 'once more', how);
    assert.deepEqual(await other.receive(), heard(['once more'], own.did));
    console.log(`ok    the library and ${name}, ${modeName}`);
  }
}
