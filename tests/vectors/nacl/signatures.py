"""Records signatures with PyNaCl (libsodium): `pip install PyNaCl==1.6.2 && python3 signatures.py > signatures.json`.

Every text is put together here as the wire contract says, and nothing is imported that knows this project. Keys, nonces
and texts are SHA-512 of a counter, so that another run gives the same file. HMAC is made of libsodium's SHA-256 as RFC
2104 says, since PyNaCl has no HMAC of its own.
"""

import base64
import json

import nacl
from nacl.bindings import crypto_hash_sha256, crypto_hash_sha512
from nacl.public import Box, PrivateKey
from nacl.signing import SigningKey

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def stream(label, size):
    out = b""
    block = 0
    while len(out) < size:
        out += crypto_hash_sha512(f"{label}/{block}".encode())
        block += 1
    return out[:size]


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def b64(data):
    return base64.b64encode(data).decode()


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def hmac(key, data):
    key = (crypto_hash_sha256(key) if len(key) > 64 else key).ljust(64, b"\0")
    inner = crypto_hash_sha256(bytes(byte ^ 0x36 for byte in key) + data)
    return crypto_hash_sha256(bytes(byte ^ 0x5C for byte in key) + inner)


class Agent:
    def __init__(self, name):
        self.signing = SigningKey(stream(f"{name} signing", 32))
        self.encryption = PrivateKey(stream(f"{name} encryption", 32))
        self.did = "did:svc:" + base58(bytes(self.signing.verify_key)[:16])

    def sign(self, text):
        return b64(self.signing.sign(text if isinstance(text, bytes) else text.encode()).signature)

    def described(self):
        prekey = bytes(PrivateKey(stream(f"prekey of {self.did}", 32)).public_key)
        return {
            "did": self.did,
            "signing_secret": bytes(self.signing).hex(),
            "signing_public": b64(bytes(self.signing.verify_key)),
            "encryption_secret": bytes(self.encryption).hex(),
            "encryption_public": b64(bytes(self.encryption.public_key)),
            "prekey": b64(prekey),
            "prekey_signature": self.sign(prekey),
        }


alice, bob = Agent("signatures alice"), Agent("signatures bob")
TEXTS = ["", "hello", "é \U0001f980 \u2028", "x" * 1000]


def sealed(label, text):
    nonce = stream(f"nonce {label}", 24)
    box = Box(alice.encryption, bob.encryption.public_key).encrypt(text.encode(), nonce)
    ciphertext = b64(box.ciphertext)
    return b64(nonce), ciphertext, crypto_hash_sha256(ciphertext.encode()).hex()


def message(number, text):
    """A message as `/send/encrypted` takes it: signed, and in deniable mode."""
    nonce, ciphertext, digest = sealed(f"message {number}", text)
    envelope = compact({
        "from": alice.did,
        "to": bob.did,
        "timestamp": f"2026-01-0{number + 1}T12:00:00.000Z",
        "nonce": nonce,
        "ciphertext_hash": digest,
    })
    shared = Box(alice.encryption, bob.encryption.public_key).shared_key()
    return {
        "text": text,
        "nonce": nonce,
        "ciphertext": ciphertext,
        "envelope": envelope,
        "signature": alice.sign(envelope),
        "deniable": b64(hmac(shared, envelope.encode())),
    }


def routed(number, text):
    nonce, ciphertext, digest = sealed(f"routed {number}", text)
    signed = compact({"from": alice.did, "to": bob.did, "nonce": nonce, "ciphertext_hash": digest})
    return {"text": text, "nonce": nonce, "ciphertext": ciphertext, "signed": signed, "signature": alice.sign(signed)}


# Texts of objects as clients send them, which only survive to the letter.
CLAIMS = [
    "{}",
    '{"zulu":1,"alpha":{"list":[1.50,1e21,-0.25,null,true]},"10":"ten","2":"two"}',
    '{"text":"é \U0001f980 \u2028","escaped":"\\u00e9\\ud83e\\udd80"}',
    '{ "spaced" : [ 1 , 2 ] }',
]


def attestation(number, claim):
    kind, timestamp = "dns-poisoning", f"2026-02-0{number + 1}T00:00:00.000Z"
    signature = alice.sign(kind + claim + timestamp)
    return {"claim_type": kind, "claim_data": claim, "timestamp": timestamp, "signature": signature}


def vote(number, word):
    attested = base64.urlsafe_b64encode(stream(f"attestation {number}", 28)).decode().rstrip("=")
    return {"id": attested, "vote": word, "signature": bob.sign(attested + word)}


def webhook(number, text):
    key = stream(f"webhook {number}", 32)
    secret, body = "whsec_" + b64(key), compact({"event": "message", "message": {"content": text}})
    name, seconds = f"delivery-{number}", 1_767_225_600 + number
    return {
        "secret": secret,
        "id": name,
        "timestamp": seconds,
        "body": body,
        "plain": "sha256=" + hmac(secret.encode(), body.encode()).hex(),
        "standard": "v1," + b64(hmac(key, f"{name}.{seconds}.{body}".encode())),
    }


print(json.dumps({
    "generator": f"PyPI PyNaCl {nacl.__version__}",
    "alice": alice.described(),
    "bob": bob.described(),
    "messages": [message(number, text) for number, text in enumerate(TEXTS)],
    "routed": [routed(number, text) for number, text in enumerate(TEXTS)],
    "attestations": [attestation(number, claim) for number, claim in enumerate(CLAIMS)],
    "votes": [vote(number, word) for number, word in enumerate(["corroborate", "refute"])],
    "webhooks": [webhook(number, text) for number, text in enumerate(TEXTS)],
}, indent=1))
