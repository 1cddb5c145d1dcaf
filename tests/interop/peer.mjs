// node peer.mjs BASE_URL CRYPTOGRAPHY: an agent on other cryptography (`nacl` or `noble`), or one whose keys the service
// holds (`service`), that does what a test asks for. It writes its DID, then one line of JSON for each line that it reads:
// `{"send": DID, "texts": [...], "mode": {...}}`, `{"route": DID, "texts": [...]}` or `{"receive": true}`.
import { createInterface } from 'node:readline';
import { ClientSide, ServerSide } from './agent.mjs';
import * as nacl from './nacl.mjs';
import * as noble from './noble.mjs';

const [base, name] = process.argv.slice(2);
const cryptographies = { nacl, noble };
const agent = name === 'service' ? await ServerSide.register(base) : await ClientSide.register(base, cryptographies[name]);

const answer = async ({ send, route, receive, texts, mode }) => {
  if (receive) return agent.receive();
  for (const text of texts) await (send ? agent.send(send, text, mode) : agent.route(route, text));
  return texts.length;
};

console.log(JSON.stringify(agent.did));
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
