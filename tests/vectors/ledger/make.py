"""Records envelopes of the credit ledger: `pip install PyNaCl==1.6.2 && python3 make.py > vectors.json`.

The canonical form is written here anew, from its description, on the standard library alone; signatures are libsodium's.
V1 to V5 are the published vectors of the clients, whose hashes stand below: the script stops when it makes others.
`input` is the text of the envelope as it travels, with what a canonical form must undo: other orders of members, white
space, nulls, `5.0`.
"""

import base64
import hashlib
import json
import sys

import nacl
from nacl.signing import SigningKey

A = SigningKey(bytes(range(0x00, 0x20)))
B = SigningKey(bytes(range(0x20, 0x40)))

PUBLISHED = {
    "V1": "2f20d45ba8cbae0b700f6c6baa736aac0d6f20dec9806956b0926152934a44b0",
    "V2": "dcda5c33bc74e530e9928f83dbb7f544680384b0932054fd2eb8a923dbce0d9a",
    "V3": "5390b6807821eba9813bc78f8576819a222ff6ae22d0a46b17a7425fff801df6",
    "V4": "7566739f83e9907c70110959f833100bd9094480d8aadee89c7d5de64d35ff4d",
    "V5": "81796c3c5e9932b22a44f507ba882466502b5499eaae2005071c73e74f6f1071",
}


def base58(data):
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = alphabet[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def did(brand, key):
    return f"did:{brand}:{base58(bytes(key.verify_key)[:16])}"


def text(value):
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    return '"' + "".join(short.get(c, f"\\u{ord(c):04x}" if c < " " else c) for c in value) + '"'


def canonical(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        assert value == int(value) and abs(value) < 2**53
        return str(int(value))
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    members = sorted((key, item) for key, item in value.items() if item is not None)
    return "{" + ",".join(f"{text(key)}:{canonical(item)}" for key, item in members) + "}"


def at(minutes):
    hours, minutes = divmod(4 + minutes, 60)
    return f"2026-01-02T{3 + hours:02}:{minutes:02}:05.000Z"


def envelopes(brand):
    a, b = did(brand, A), did(brand, B)
    window = lambda minutes: {"issued_at": at(0), "expires_at": at(minutes)}
    memo = 'caf\u00e9 "q" \\ / \u2028\t\u0001\u007f\U0001f600'
    escrow, other = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
    yield "V1", A, {"schema": f"{brand}-pay-faucet/v1", "did": a, "nonce": "vector-faucet-000001", **window(10)}
    yield "V2", A, {
        "schema": f"{brand}-credit-transfer/v1", "from_did": a, "to_did": b, "amount_micro": 500000,
        "nonce": "vector-transfer-0001", "memo": memo, "owner": None, **window(30),
    }
    yield "V3", B, {
        "schema": f"{brand}-work-claim/v1", "task_id": "task-1", "from_did": a, "to_did": b,
        "work_hash": hashlib.sha256(b"hello").hexdigest(), "nonce": "vector-claim-0000001",
        "acceptance_deadline_at": at(60), "auto_accept_on_timeout": True, "escrow_id": escrow, "summary": "ok",
        **window(15),
    }
    yield "V4", A, {
        "schema": f"{brand}-work-acceptance/v1", "receipt_id": other, "signer_did": a, "action": "accept",
        "action_nonce": "vector-accept-000001", "rating": 5, **window(10),
    }
    yield "V5", B, {
        "schema": f"{brand}-capability-list/v1", "provider_did": b, "capability": "hash.sha256", "name": "Hasher",
        "description": "d", "price_per_call_micro": 1000, "unit": "call", "sla_deadline_hours": 24, "active": True,
        "nonce": "vector-list-00000001", "tags": '["crypto", "hash"]', **window(15),
    }
    yield "V6", A, {
        "schema": f"{brand}-hire-request/v1", "capability_id": other, "capability": "hash.sha256", "requester_did": a,
        "provider_did": b, "price_micro": 1000, "task_id": "task-1", "delivery_deadline_hours": 24,
        "nonce": "vector-hire-00000001", "input_json": '{"text": "h\u00e9llo"}', **window(15),
    }
    yield "V7", A, {
        "schema": f"{brand}-escrow-open/v1", "from_did": a, "to_did": b, "amount_micro": 10**15,
        "nonce": "vector-escrow-000001", "deadline_at": "2026-01-03T03:04:05Z", "memo": "\ud7ff\ue000", **window(15),
    }
    yield "V8", A, {
        "schema": f"{brand}-escrow-refund/v1", "escrow_id": escrow, "signer_did": a,
        "action_nonce": "vector-refund-000001", "reason": None, **window(15),
    }
    yield "V9", A, {
        "schema": f"{brand}-batch-transfer/v1", "from_did": a, "batch_id": "vector-batch-0000001",
        "items": [
            {"to_did": b, "amount_micro": 1, "memo": None},
            {"memo": "two", "amount_micro": 2, "to_did": b},
        ],
        **window(30),
    }
    yield "V10", B, {
        "schema": f"{brand}-pay-admin-action/v1", "action": "grant", "audience": "deployment", "did": a,
        "amount_micro": 10000000, "action_nonce": "vector-grant-0000001", "issued_at": at(0),
        "valid_until_ts": at(10), "reason": None,
    }
    yield "V11", A, {
        "schema": f"{brand}-credit-transfer/v1", "from_did": a, "to_did": b, "amount_micro": 5.0,
        "nonce": "vector-transfer-0002", **window(30),
    }


def vectors(brand):
    for name, key, envelope in envelopes(brand):
        form = canonical(envelope).encode()
        digest = hashlib.sha256(form).hexdigest()
        if brand == "svc" and PUBLISHED.get(name, digest) != digest:
            sys.exit(f"{name} is not the published one")
        yield {
            "name": name,
            "brand": brand,
            "signing_public_key": bytes(key.verify_key).hex(),
            "input": json.dumps(envelope, indent=1),
            "canonical": form.decode(),
            "hash": digest,
            "signature": base64.b64encode(key.sign(form).signature).decode(),
        }


made = [vector for brand in ("svc", "acme2") for vector in vectors(brand)]
print(json.dumps({"generator": f"PyPI PyNaCl {nacl.__version__}", "vectors": made}, indent=1))
