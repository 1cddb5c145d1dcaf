"""Records NaCl box vectors with PyNaCl (libsodium): `pip install PyNaCl==1.6.2 && python3 make.py > pynacl.json`.

Keys, nonces and messages are SHA-512 of a counter, so that another run gives the same file.
"""

import hashlib
import json

import nacl
from nacl.public import Box, PrivateKey


def stream(label, size):
    out = b""
    block = 0
    while len(out) < size:
        out += hashlib.sha512(f"{label}/{block}".encode()).digest()
        block += 1
    return out[:size]


def vector(size):
    alice = PrivateKey(stream(f"pynacl alice {size}", 32))
    bob = PrivateKey(stream(f"pynacl bob {size}", 32))
    nonce = stream(f"pynacl nonce {size}", 24)
    message = stream(f"pynacl message {size}", size)
    box = Box(alice, bob.public_key)
    return {
        "alice_secret": bytes(alice).hex(),
        "alice_public": bytes(alice.public_key).hex(),
        "bob_secret": bytes(bob).hex(),
        "bob_public": bytes(bob.public_key).hex(),
        "precomputed": box.shared_key().hex(),
        "nonce": nonce.hex(),
        "message": message.hex(),
        "box": box.encrypt(message, nonce).ciphertext.hex(),
    }


sizes = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 1000, 4096]
vectors = [vector(size) for size in sizes]
print(json.dumps({"generator": f"PyPI PyNaCl {nacl.__version__}", "vectors": vectors}, indent=1))
