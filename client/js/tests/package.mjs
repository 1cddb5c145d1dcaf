// node package.mjs BASE_URL PACKAGE: what the package does when something fails or ends early. Prints one line per check.
// node package.mjs BASE_URL PACKAGE hold FOLDER: opens the agent in a folder, says so, and keeps it.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

const [base, folder, task, place] = process.argv.slice(2);
const { Client, FileStore } = await import(pathToFileURL(`${folder}/node.js`));
const client = new Client(base);
const done = (check) => console.log(`ok    ${check}`);

const failing = async () => {
  const stores = {
    'throws an error': [{ read() { throw new Error('the disk is gone'); } }, 'the disk is gone'],
    'rejects with an error': [{ read: async () => { throw new TypeError('no such disk'); } }, 'no such disk'],
    'throws a text': [{ read() { throw 'words'; } }, 'words'],
    'rejects with nothing': [{ read: () => Promise.reject() }, 'undefined'],
    'has no functions': [{}, 'it has no function `read`'],
    'cannot write': [{ read: () => null, write() { throw new Error('full'); } }, 'full'],
  };
  for (const [what, [store, reason]] of Object.entries(stores)) {
    const error = await client.openOrRegister(store).then(() => assert.fail('it was taken'), (error) => error);
    assert.equal(error.name, 'HeliographError');
    assert.ok(error.message.startsWith('the store of the agent failed: ') && error.message.includes(reason), error.message);
    done(`a store that ${what}`);
  }
  const error = await client.register(new FileStore('/dev/null/x')).catch((error) => error);
  assert.match(error.message, /^the store of the agent failed: ENOTDIR/);
  done('a folder that cannot be made');
};

const oneStore = async () => {
  const first = new FileStore(place);
  const { did } = await client.openOrRegister(first);
  await assert.rejects(client.open(new FileStore(place)), /another store of this program uses/);
  first.close();
  await assert.rejects(client.open(first), /is closed/);
  const second = new FileStore(place);
  assert.equal((await client.open(second)).did, did);
  second.close();
  done('one store uses a folder at a time');
};

const listening = async () => {
  const agent = await client.register();
  await agent.send(agent.did, 'hello');
  for await (const message of agent.listen()) {
    assert.equal(message.text, 'hello');
    break;
  }
  const listener = agent.listen();
  assert.equal((await listener.next()).text, 'hello');
  const waiting = listener.next();
  await new Promise((resolve) => setTimeout(resolve, 200));
  listener.close();
  assert.equal(await waiting, undefined);
  assert.equal(await listener.next(), undefined);
  done('a listener that was closed');
};

const paths = async () => {
  const agent = await client.register();
  for (const path of ['@127.0.0.1:1/x', '.evil.example/x', 'v1/agent/profile', '//x']) {
    await assert.rejects(agent.request('GET', path), /must begin with one `\/`/);
    await assert.rejects(client.get(path), /must begin with one `\/`/);
  }
  assert.equal((await agent.request('GET', '/v1/agent/profile')).did, agent.did);
  done('a path leads to no other host');
};

if (task === 'hold') {
  await client.openOrRegister(new FileStore(place));
  console.log('held');
  setInterval(() => {}, 1000);
} else {
  await failing();
  await oneStore();
  await paths();
  const open = await client.country('KE', '2020-01-01');
  assert.ok(open.country === 'KE' && open.as_of.startsWith('2020-01-01'));
  assert.ok((await client.check('telegram', 'KE', '2020-01-01')).as_of.startsWith('2020-01-01'));
  assert.ok(Array.isArray((await client.incidents({ words: 'x', limit: 1 })).incidents));
  assert.equal((await client.incidents({ asOf: '2021-03-04' })).as_of, '2021-03-04T23:59:59.999Z');
  done('open data');
  await listening();
  // A connection that nobody needs must not keep the program.
  setTimeout(() => assert.fail('something is still open'), 15_000).unref();
}
