// Cryptography of another kind of agent: the Noble family.
import { hsalsa, secretbox } from '@noble/ciphers/salsa';
import { ed25519, x25519 } from '@noble/curves/ed25519';
import { hmac } from '@noble/hashes/hmac';
import { sha256 as hash } from '@noble/hashes/sha2';
import { randomBytes } from '@noble/hashes/utils';
import { ml_kem768 } from '@noble/post-quantum/ml-kem';

export const name = 'noble';

export const random = randomBytes;
export const sha256 = (bytes) => hash(Uint8Array.from(bytes));
export const hmacSha256 = (key, bytes) => hmac(hash, key, Uint8Array.from(bytes));

export const signingPair = () => {
  const secret = ed25519.utils.randomPrivateKey();
  return { publicKey: ed25519.getPublicKey(secret), secret };
};
export const sign = (bytes, secret) => ed25519.sign(Uint8Array.from(bytes), secret);
export const verify = (signature, bytes, publicKey) => {
  try {
    return ed25519.verify(signature, Uint8Array.from(bytes), publicKey, { zip215: false });
  } catch {
    return false;
  }
};

export const boxPair = () => {
  const secret = x25519.utils.randomPrivateKey();
  return { publicKey: x25519.getPublicKey(secret), secret };
};

const words = (bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, at) => view.getUint32(at * 4, true));
};
const SIGMA = words(new TextEncoder().encode('expand 32-byte k'));

export const shared = (publicKey, secret) => {
  const out = new Uint32Array(8);
  hsalsa(SIGMA, words(x25519.getSharedSecret(secret, publicKey)), new Uint32Array(4), out);
  const bytes = new DataView(new ArrayBuffer(32));
  out.forEach((word, at) => bytes.setUint32(at * 4, word, true));
  return new Uint8Array(bytes.buffer);
};
export const seal = (plain, nonce, key) => secretbox(key, nonce).seal(Uint8Array.from(plain));
export const open = (sealed, nonce, key) => {
  try {
    return secretbox(key, nonce).open(sealed);
  } catch {
    return null;
  }
};

export const kemPair = async () => {
  const { publicKey, secretKey } = ml_kem768.keygen();
  return { publicKey, secret: secretKey };
};
export const encapsulate = async (publicKey) => {
  const { cipherText, sharedSecret } = ml_kem768.encapsulate(publicKey);
  return { ciphertext: cipherText, secret: sharedSecret };
};
export const decapsulate = async (ciphertext, secret) => ml_kem768.decapsulate(ciphertext, secret);
