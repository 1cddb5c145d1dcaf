// Cryptography of one kind of agent: tweetnacl, node's hashes, and mlkem.
import { createHash, createHmac } from 'node:crypto';
import nacl from 'tweetnacl';
import { MlKem768 } from 'mlkem';

export const name = 'tweetnacl';

export const random = (size) => nacl.randomBytes(size);
export const sha256 = (bytes) => Uint8Array.from(createHash('sha256').update(bytes).digest());
export const hmacSha256 = (key, bytes) => Uint8Array.from(createHmac('sha256', key).update(bytes).digest());

/** Ed25519: { publicKey, secret } */
export const signingPair = () => {
  const pair = nacl.sign.keyPair();
  return { publicKey: pair.publicKey, secret: pair.secretKey };
};
export const sign = (bytes, secret) => nacl.sign.detached(Uint8Array.from(bytes), secret);
export const verify = (signature, bytes, publicKey) =>
  signature.length === 64 && nacl.sign.detached.verify(Uint8Array.from(bytes), signature, publicKey);

/** X25519: { publicKey, secret } */
export const boxPair = () => {
  const pair = nacl.box.keyPair();
  return { publicKey: pair.publicKey, secret: pair.secretKey };
};
/** The precomputed key of a NaCl box. */
export const shared = (publicKey, secret) => nacl.box.before(publicKey, secret);
export const seal = (plain, nonce, key) => nacl.secretbox(Uint8Array.from(plain), nonce, key);
/** null when it does not open. */
export const open = (sealed, nonce, key) => nacl.secretbox.open(sealed, nonce, key);

/** ML-KEM-768: { publicKey, secret } */
export const kemPair = async () => {
  const [publicKey, secret] = await new MlKem768().generateKeyPair();
  return { publicKey, secret };
};
export const encapsulate = async (publicKey) => {
  const [ciphertext, secret] = await new MlKem768().encap(publicKey);
  return { ciphertext, secret };
};
export const decapsulate = async (ciphertext, secret) => new MlKem768().decap(ciphertext, secret);
