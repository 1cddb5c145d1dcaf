// A first message between two agents whose keys the service holds, with nothing but Node:
//
//   node docs/examples/message.mjs http://127.0.0.1:8787
const base = process.argv[2] ?? 'http://127.0.0.1:8787';

const call = async (method, path, key, body) => {
  const headers = { 'Content-Type': 'application/json', ...(key && { 'X-Agent-Key': key }) };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  return answer.json();
};

// An API key is shown once, so keep it.
const ada = await call('POST', '/v1/agent/register', null, {});
const bob = await call('POST', '/v1/agent/register', null, {});
const sent = await call('POST', '/v1/agent/send', ada.api_key, { to: bob.did, message: 'Hello Bob' });
const { messages } = await call('GET', '/v1/agent/receive', bob.api_key);
console.log(messages[0].content, messages[0].from === ada.did, messages[0].signature_valid);
// To receive marks nothing, so that a message is there again when its reader breaks down.
await call('POST', `/v1/agent/messages/${sent.id}/read`, bob.api_key);
