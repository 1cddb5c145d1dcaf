// Records NaCl box vectors with npm tweetnacl: `npm i tweetnacl@1.0.3 && node make.mjs > tweetnacl.json`.
// Keys, nonces and messages are SHA-512 of a counter, so that another run gives the same file.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const nacl = createRequire(pathToFileURL(process.cwd() + '/'))('tweetnacl');

const hex = (bytes) => Buffer.from(bytes).toString('hex');
const stream = (label, size) => {
  const out = [];
  for (let block = 0; out.length < size; block++) out.push(...nacl.hash(Buffer.from(`${label}/${block}`)));
  return Uint8Array.from(out.slice(0, size));
};

const vectors = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 1000, 4096].map((size) => {
  const alice = nacl.box.keyPair.fromSecretKey(stream(`tweetnacl alice ${size}`, 32));
  const bob = nacl.box.keyPair.fromSecretKey(stream(`tweetnacl bob ${size}`, 32));
  const nonce = stream(`tweetnacl nonce ${size}`, 24);
  const message = stream(`tweetnacl message ${size}`, size);
  return {
    alice_secret: hex(alice.secretKey),
    alice_public: hex(alice.publicKey),
    bob_secret: hex(bob.secretKey),
    bob_public: hex(bob.publicKey),
    precomputed: hex(nacl.box.before(bob.publicKey, alice.secretKey)),
    nonce: hex(nonce),
    message: hex(message),
    box: hex(nacl.box(message, nonce, bob.publicKey, alice.secretKey)),
  };
});
console.log(JSON.stringify({ generator: 'npm tweetnacl 1.0.3', vectors }, null, 1));
