"""Which valid requests the servers may refuse with 400 (decision what-is-asked-at-random).

A request that fits the document must succeed, unless the reason of its refusal is in this table: a rule that JSON Schema
cannot say. All other requests that are refused fail the test.
"""

import atexit
import hashlib
import hmac
import json
import os
import re
import urllib.parse

import requests
import schemathesis
from schemathesis.specs.openapi import checks

# What follows is a rule, then what the server says of those who break it.
REFUSALS = [
    # Parameters that go together or exclude each other: OpenAPI describes each of them alone.
    ("together", r"^Name a country \(`probe_cc`\) or a domain"),
    ("together", r"goes without|goes with `|go together|not both|cannot be combined|needs `|is for `|only with `|cannot stand beside `"),
    # One value is compared with another one.
    ("order", r"must (not )?be (before|after) `|must not (lie|be) after|must lie after|lies before `|longer than|at most \d+ days|before its"),
    ("order", r"`time_grain`|does not fit|axis_[xy]"),
    # A value is compared with the time at which it is asked, or with what there is then.
    ("now", r"within 5 minutes of the service's time|up to today|lies ahead|must not be in the future|lies in the future|must lie ahead|must be in the future"),
    ("state", r"must name a forecast of|^There is no shutdown history|`from` must be at least 1, and `to`|`size` must be from 1 to \d+"),
    # Cursors are texts that an answer gave.
    ("cursor", r"must be the `?(next|cursor|next_cursor|next_since)|`cursor` must|the `next` of|not a cursor"),
    # What a name of a site is: labels, lengths, IDNA, and the names of services.
    ("site", r"names no (domain|service)|names no domain or service|not a domain|no domain given|names no site"),
    # What is written in more ways than one: in any case, with spaces, also by retired names.
    ("words", r"is not a (topic|category code|network number)|must be one of svc,|is not a platform|names no network|is no network"),
    # DIDs end in a checksum of their own length, and carry the brand of the deployment.
    ("did", r"is not a DID|must be a DID|no DID of this service"),
    # Keys and signatures are so many bytes in base64, valid points, and made with a key that only its holder has.
    ("keys", r"must be \d+ bytes|base64|signature|public key|not a point|`\w*_?nonce`|proof\.|The service makes the keys|makes its keys|signed_prekey"),
    # Envelopes of the ledger are signed as they are: their form is in docs/ledger.md, and tested by the suite of the ledger.
    ("envelope", r"^The envelope does not have the form|^The body is not an action of this route|envelope"),
    # Addresses that the server asks: only https, no private ones.
    ("address", r"^No request goes to|must be an https address|is no address"),
    # Text that people read has no control characters, and no white space alone; what is left after trimming counts.
    ("text", r"control characters|must be one line|must not be empty|is required|at least \d+ characters|must be \d+ to \d+ characters|turn the direction|has no word|different words"),
    # Times in a body are texts that may also be a day, or `ongoing`.
    ("time", r"must be an ISO 8601|is not a time|ISO 8601|lies before 1970"),
    # JSON Schema takes 3.0 for a whole number, and no schema says how large a number of JSON is.
    ("number", r"must be a whole number|number out of range"),
    # One of several members is needed; generators of clients make separate types of `anyOf`.
    ("one of", r"`\w+` (and|or) `\w+` (is|are) required|^Nothing to amend|^Give (both )?`|^Name a `|must not be null"),
    # The token may stand in a header instead.
    ("token", r"`nodeId` and `nodeToken` are required"),
    # Headers that depend on the body.
    ("protocol", r"MCP-Protocol-Version|Mcp-Method|Mcp-Name"),
    # Files are read, and what is wrong in them is said.
    ("file", r"^The data cannot be read|^This is not `|^The (header|line|file|dump)"),
    # A list with commas is one text of several codes, in any case and with spaces.
    ("list", r"^`\w+` takes "),
    # Nothing is sent to an address that its owner did not subscribe.
    ("subscribed", r"must be the address of a subscription"),
    # Hours are the finest grain of what is kept.
    ("hour", r"must be a day or a full hour"),
    # Two letters are a code of a country only where ISO 3166-1 has assigned them.
    ("country", r"is not an ISO 3166-1 country code|must be an ISO 3166(-1)? code"),
    # Which events there are depends on the layers of the program.
    ("events", r"^`events` must be a list of events"),
    # What a schema could say and does not say yet.
    ("not yet", r"must be a JSON object"),
    # A schema counts characters, where the server counts bytes.
    ("bytes", r"must be an address such as"),
    # What a deployment is set up with.
    ("setting", r"comes from the setting"),
]


@schemathesis.check
def valid_requests_are_accepted(ctx, response, case):
    try:
        return checks.positive_data_acceptance(ctx, response, case)
    except checks.RejectedPositiveData:
        said = response.json()
        message = said.get("message") or said.get("error", {}).get("message") or ""
        if response.status_code == 400 and any(re.search(pattern, message) for _, pattern in REFUSALS):
            return None
        # The key of an earlier request, drawn again with another body.
        if said.get("error") == "IDEMPOTENCY_MISMATCH":
            return None
        raise


# Whom the operator may suspend, erase and give other keys, in place of the agent and the account that all others are
# asked with.
SPARED = json.loads(os.environ.get("HELIOGRAPH_SPARED", "{}"))


class Signed(requests.auth.AuthBase):
    """Signs what is sent, as probes do: with their token, over the bytes."""

    def __init__(self, token):
        self.token = token.encode()

    def __call__(self, request):
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else body
        request.headers["X-Svc-Signature"] = "sha256=" + hmac.new(self.token, body, hashlib.sha256).hexdigest()
        return request


@schemathesis.hook
def before_call(ctx, case, kwargs):
    for name, value in (case.path_parameters or {}).items():
        case.path_parameters[name] = SPARED.get(urllib.parse.unquote(str(value)), value)
    # A request that shall be wrong stays so: its signature may be what is wrong.
    is_right = case.meta and case.meta.generation.mode.is_positive
    if is_right and case.operation.definition.raw["operationId"] == "submitProbeResults":
        if isinstance(case.body, dict):
            case.body["nodeId"] = os.environ["HELIOGRAPH_NODE"]
        kwargs["auth"] = Signed(os.environ["HELIOGRAPH_NODE_TOKEN"])


# What each operation answered, by status, for the test that reads it (decision what-is-asked-at-random).
ANSWERED = {}


@schemathesis.hook
def after_call(ctx, case, response):
    statuses = ANSWERED.setdefault(case.operation.definition.raw["operationId"], {})
    statuses[response.status_code] = statuses.get(response.status_code, 0) + 1


@atexit.register
def tell():
    if path := os.environ.get("HELIOGRAPH_ANSWERED"):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(ANSWERED, file)
