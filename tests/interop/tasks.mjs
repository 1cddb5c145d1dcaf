// Tasks: input and output are boxes of JSON text, the output signed over that text.
import { call, lookUp } from './agent.mjs';
import { b64, text, unb64, utf8 } from './formats.mjs';

const path = (id = '') => `/v1/agent/tasks${id && `/${id}`}`;

/** A plain value of the caller's, as request members called `name`. */
const boxed = (agent, peer, name, value) => {
  const { crypto } = agent;
  const plain = utf8(JSON.stringify(value));
  const nonce = crypto.random(24);
  const sealed = crypto.seal(plain, nonce, crypto.shared(peer.encryption, agent.box.secret));
  return {
    [`encrypted_${name}`]: b64(sealed),
    [`${name}_nonce`]: b64(nonce),
    ...(name === 'output' ? { output_signature: b64(crypto.sign(plain, agent.signing.secret)) } : {}),
  };
};

/** What a client opens of a task; the signature of an output is checked. */
const opened = (agent, peer, task, name) => {
  const { crypto } = agent;
  const key = crypto.shared(peer.encryption, agent.box.secret);
  const plain = crypto.open(unb64(task[`encrypted_${name}`]), unb64(task[`${name}_nonce`]), key);
  const signed = name !== 'output' || crypto.verify(unb64(task.output_signature), plain, peer.signing);
  return { value: JSON.parse(text(plain)), signed };
};

/** Asks `to` for something; the id of the task. */
export const ask = async (agent, to, value) => {
  const input = agent.crypto ? boxed(agent, await lookUp(agent.base, to), 'input', value) : { input: value };
  return (await call(agent.base, 'POST', path(), { key: agent.key, body: { to, ...input } })).id;
};

/** Takes the oldest task that waits and settles it with what `work` makes of the input. */
export const settle = async (agent, work) => {
  const waiting = await call(agent.base, 'GET', `${path()}?status=pending`, { key: agent.key });
  const task = await call(agent.base, 'GET', path(waiting.tasks.at(-1).id), { key: agent.key });
  const peer = await lookUp(agent.base, task.from);
  const input = agent.crypto ? opened(agent, peer, task, 'input').value : task.input;
  for (const status of ['accepted', 'in_progress']) {
    await call(agent.base, 'PATCH', path(task.id), { key: agent.key, body: { status } });
  }
  const output = work(input);
  const members = agent.crypto ? boxed(agent, peer, 'output', output) : { output };
  await call(agent.base, 'PATCH', path(task.id), { key: agent.key, body: { status: 'completed', ...members } });
};

/** The settled task's output as its requester sees it. */
export const outcome = async (agent, id) => {
  const task = await call(agent.base, 'GET', path(id), { key: agent.key });
  if (!agent.crypto) return { value: task.output, signed: task.output_signature_valid };
  return opened(agent, await lookUp(agent.base, task.to), task, 'output');
};
