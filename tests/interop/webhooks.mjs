// A receiver of webhooks as anybody would write one: nothing but the crypto of Node, and the two published rules.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const same = (left, right) => {
  const [a, b] = [Buffer.from(left ?? ''), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
};

/** Whether both signatures of a request are right. */
export const genuine = (secret, { headers, body }) => {
  const plain = createHmac('sha256', secret).update(body).digest('hex');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const standard = createHmac('sha256', key).update(signed).digest('base64');
  const fresh = Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp'])) < 300;
  return fresh && same(headers['x-svc-signature'], `sha256=${plain}`) && same(headers['webhook-signature'], `v1,${standard}`);
};

/** A receiver on loopback: its address, and a promise for the next request. */
export const receiver = async () => {
  const came = [];
  const waiting = [];
  const server = createServer((request, answer) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      came.push({ headers: request.headers, body: Buffer.concat(pieces).toString('utf8') });
      answer.end();
      waiting.shift()?.(came.shift());
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const next = () => (came.length ? Promise.resolve(came.shift()) : new Promise((done) => waiting.push(done)));
  return { url: `http://127.0.0.1:${server.address().port}/`, next, close: () => server.close() };
};
