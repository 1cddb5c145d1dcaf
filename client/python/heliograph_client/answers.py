"""What the service answers. Written from the types in Rust by a test (HELIOGRAPH_UPDATE_GOLDEN=1 cargo test -p heliograph-client --test types)."""

from typing import Any, Literal, Optional, TypedDict, Union

Json = Any

class DbStats(TypedDict):
    """What an answer took."""

    # Measurements that were read.
    row_count: int

class AggregationCounts(TypedDict):
    """What measurements vote. The other four sum to `measurement_count`."""

    # Measurements that vote blocked without a known block page.
    anomaly_count: int

    # Measurements that vote blocked because a known block page was recognised.
    confirmed_count: int

    # Measurements without a vote.
    failure_count: int
    measurement_count: int

    # Measurements that vote accessible.
    ok_count: int

class AggregationRow(AggregationCounts):
    """Counts, and the values on the axes that were asked for."""

    # `dns`, `tcp_ip`, `tls`, `http-failure`, `http-diff`; `unknown` if nothing tells how it is blocked, empty if it is
    # not blocked.
    blocking_type: Optional[str]

    # Empty if no list has the domain.
    category_code: Optional[str]

    # A domain, or a role of a service such as `telegram/pool`.
    domain: Optional[str]

    # The beginning of a span of the grain: a day, or an hour such as `2023-11-08T11:00:00Z`.
    measurement_start_day: Optional[str]

    # 0 if the network is withheld.
    probe_asn: Optional[int]
    probe_cc: Optional[str]

    # Empty if nothing tells it.
    test_name: Optional[str]

# Rows if there are axes, else the counts of everything.
AggregationResult = Union[list[AggregationRow], AggregationCounts]

class Aggregation(TypedDict):
    """`AggregationBody` in the document of the interface."""

    db_stats: DbStats

    # Number of axes.
    dimension_count: int

    # What they leave out.
    left_out: str
    license: str

    # What the counts are.
    method: str
    result: AggregationResult

    # The first moment of the range, and the first after it.
    since: str

    # The grain of `measurement_start_day`: `hour`, `day`, `week` (from Sunday on), `month` or `year`.
    time_grain: str
    until: str

    # 0
    v: int

class IncidentSummary(TypedDict):
    """An incident as lists have it. `Incident` and `ChangedIncident` have these members, and more."""

    # `AS<number>`.
    affectedAsns: list[str]
    affectedDomains: list[str]
    affectedServices: list[str]

    # Share of the votes between start and end that say blocked, 0 to 1.
    anomalyRate: float
    areas: list[str]
    blockingMethods: list[str]

    # Whether its type is censorship or mixed, and it is more than suspected.
    citable: bool

    # Address of this version, for ever.
    citationUrl: str

    # 0 to 1.
    confidence: float
    country: str

    # Also as `country_name`.
    countryName: str

    # Also as `created_at`.
    createdAt: str

    # When there was enough data to say that it began, and that it is over. These times are later than the dates
    # themselves. Absent where nothing was measured, and while it is not over.
    declaredTime: Optional[str]

    # The operator's words, or the summary if there are none.
    description: str
    domains: list[str]

    # Absent while it goes on.
    endTime: Optional[str]

    # Whether nobody said when it ended. It stays active for some time after it was last said to go on, and is
    # resolved later. Then `endTime` equals `lastConfirmedAt`.
    endUnknown: bool

    # All evidence, of which the incident itself keeps at most 50 rows.
    evidenceCount: int
    flag: str

    # The readable id, `<CC>-<year>-<sequence>`.
    hashId: str

    # 12 hexadecimal digits.
    id: str
    incidentHash: str
    incidentType: str

    # When it was last said or measured to go on; absent where the end is known.
    lastConfirmedAt: Optional[str]

    # Strictest licence of the sources.
    license: str
    measurementCount: int

    # Incidents that operators merged into this one.
    mergedFrom: list[str]

    # The id of the incident that it was merged into.
    mergedInto: Optional[str]
    networksBlocked: int
    networksTested: int
    notKnown: list[str]
    occasion: Optional[str]
    pattern: Optional[str]
    permalink: str

    # Also as `readable_id`.
    readableId: str
    reportUrl: str
    resolvedTime: Optional[str]

    # Why it was withdrawn.
    retracted: Optional[str]
    schedule: Optional[str]

    # The codes of `title`, `summary` and `notKnown`. A title that an operator wrote has none.
    sentences: Json
    severity: str

    # Share of the weight of tested networks that is affected, 0 to 1.
    shareAffected: float
    sources: list[str]
    startTime: str

    # Whether it already went on when it was first measured, at `startTime`. It began before, and it is not
    # known when.
    startUnknown: bool
    status: str

    # One plain sentence with numbers.
    summary: str
    title: str

    # With six fractional digits, since it is the cursor of the delta.
    updatedAt: str

    # From 1. `permalink` with `?version=` leads to this version for ever.
    version: int

class ChangedIncident(IncidentSummary):
    """An incident that changed."""

    # `created`, `updated`, `merged` (see `mergedInto`) or `retracted` (see `retracted`).
    change: str

class Changes(TypedDict):
    """Incidents changed after `since`, oldest change first. Each is listed once, in its present state."""

    count: int
    dataset_version: str
    generated_at_utc: str
    has_more: bool
    incidents: list[ChangedIncident]
    license: str

    # Use this value in the next request. So nothing is missed and nothing comes twice.
    next_since: str

    # The same as in the request.
    since: str

class IncidentLead(TypedDict):
    """An incident that an answer names."""

    country: str

    # Absent while the incident goes on. In answers about the past, absent while it went on then.
    endTime: Optional[str]

    # True if no source said when it ended. Then `endTime` is when it was last said to go on.
    endUnknown: bool

    # The readable id.
    id: str
    sentences: Json
    startTime: str
    status: str
    summary: str
    title: str
    url: str

class ListEntry(TypedDict):
    """A block list that names the subject."""

    # The date of the list.
    date: str

    # `official`, `court`, `leak`, `documented` or `community`.
    kind: str

    # Since when the list has the entry, if the list says so.
    since: Optional[str]

    # The source that documents a documented block.
    source: Optional[str]

class PlatformLead(TypedDict):
    """The platform that a site belongs to, and its status in the asked country."""

    basis: str
    confidence: float

    # Whether the platform is blocked when the site is.
    essential: bool
    evidenceCount: int
    label: str
    lastChecked: str

    # The role of the site in the platform, such as `website`; null if a target list does not say.
    role: Optional[str]
    sentences: Json
    slug: str
    staleSince: Optional[str]
    status: str
    summary: str
    url: str

class Check(TypedDict):
    """A check: an answer, and whether the domain can be reached."""

    # 1 reachable, 0 blocked, null unknown.
    accessibilityScore: Optional[float]
    accessible: Optional[bool]
    as_of: Optional[str]
    basis: str
    blockingMethod: Optional[str]

    # Time of this answer.
    checkedAt: str
    confidence: float
    country: str
    countryName: str

    # The domain as asked.
    domain: str
    evidenceCount: int
    evidenceStrength: float
    explanation: Optional[Json]

    # Time of the newest counted measurement, or of the list.
    lastChecked: str

    # The latest incident about the subject or its platform in this country, if the status is unknown. Not in
    # answers about many subjects.
    latestIncident: Optional[IncidentLead]
    license: str
    listed: bool
    lists: list[ListEntry]
    methods: list[str]
    networksBlocked: int
    networksTested: int

    # The platform that the subject belongs to. Not in answers about many subjects.
    platform: Optional[PlatformLead]
    reason: Optional[str]
    samples: int
    scope: Optional[str]

    # The code of `summary`, or the codes of its sentences.
    sentences: Json
    sources: list[str]

    # When the newest measurement became too old to count.
    staleSince: Optional[str]
    status: str

    # The answer in one sentence, followed by sentences about the platform and the latest incident if there are
    # any.
    summary: str
    technique: Optional[str]

class ClaimCore(TypedDict):
    """The verdict on what was checked of a claim, where something of it was not."""

    # How sure that verdict is, 0 to 1; 0 without data.
    confidence: float
    verdict: str

class ClaimEvidence(TypedDict):
    """`ClaimEvidence` in the document of the interface."""

    # What this row says.
    claim: str
    confidence: float
    kind: str
    observedAt: str
    permalink: Optional[str]
    sentences: Json
    source: str

class ClaimIncident(TypedDict):
    """An incident that bears on the claim."""

    confidence: float

    # Nobody said when it ended: it is known to have gone on until `lastConfirmedAt`.
    endUnknown: bool
    id: str
    lastConfirmedAt: Optional[str]
    permalink: str

    # The code of `title`, unless an operator wrote it.
    sentences: Json
    severity: str
    startTime: str

    # It was there when it was first measured: it began before `startTime`.
    startUnknown: bool
    status: str
    title: str
    type: str

class ClaimNetwork(TypedDict):
    """A network as the claim names it, with what measurements know of it."""

    # `None` when only a name is known.
    asn: Optional[int]
    name: Optional[str]

class ClaimTopic(TypedDict):
    """What the data say to one of several topics, countries and statements."""

    confidence: float
    contradicted: bool
    country_code: str

    # The statement is that it is not, or no longer, so.
    negated: bool

    # The network that was looked at, when the statement is about one.
    network: Optional[ClaimNetwork]
    reason: str
    sentences: Json
    service: str
    verdict: str

class ClaimVerdict(TypedDict):
    """`ClaimBody` in the document of the interface."""

    citation: Optional[str]
    claim: str

    # How sure the verdict is, 0 to 1; 0 without data.
    confidence: float

    # The data decide the opposite of the claim.
    contradicted: bool

    # The verdict on the rest of the claim, where something is unchecked and nothing is contradicted.
    core: Optional[ClaimCore]
    evidence: Optional[list[ClaimEvidence]]
    generated_at: str
    incidents: list[ClaimIncident]
    license: str
    parsed: Json

    # One sentence.
    reason: str
    sentences: Json
    topics: list[ClaimTopic]

    # What of the claim nobody checked, in its words: with any, `verdict` is `unconfirmed` at best.
    unchecked: list[str]
    verdict: str

class ActiveIncident(TypedDict):
    """An active incident, as a page lists it."""

    id: str

    # The code of `title`, unless an operator wrote it.
    sentences: Json
    severity: str
    title: str
    type: str

class SourceLicense(TypedDict):
    """A source of the numbers, and its licence."""

    license: str
    source: str

class Country(TypedDict):
    """`/v1/censorship-index/{code}`"""

    # The incidents that are active now; absent in answers about the past.
    activeIncidents: list[ActiveIncident]
    as_of: Optional[str]

    # The country code.
    country: str
    effectiveLicense: str

    # Time of the newest measurement; null if there is none.
    lastChecked: Optional[str]
    license: str
    name: str
    ooni: Optional[Json]
    score: Optional[int]
    sourceLicenses: list[SourceLicense]

    # When the newest measurement became too old to count; absent while any counts.
    staleSince: Optional[str]
    status: str
    timestamp: str

class ListedBlock(TypedDict):
    """Something that a list names, and no measurement decides."""

    # `known_list`
    basis: str

    # The date of the list.
    date: str

    # `official`, `court`, `leak` or `documented`.
    kind: str
    label: str

    # Since when the list has the entry, if the list says so.
    since: Optional[str]

    # The source that documents a documented block.
    source: Optional[str]

    # A domain, or the slug of a platform.
    target: str

class Blocked(TypedDict):
    """What is blocked in a country."""

    # Slugs of platforms that measurements find blocked.
    affectedServices: list[str]

    # Domains that measurements find blocked.
    blockedDomains: list[str]

    # What lists and documented facts say is blocked where no measurement decides; at most 50.
    listedBlocked: list[ListedBlock]

    # Entries of lists and facts that count here, including those about sites that measurements decide.
    listedCount: int

class CountryPage(TypedDict):
    """`/data/country/{code}`, as far as it says more than `Country`."""

    # Why there is no score; null if there is one.
    reason: Optional[str]
    data: Blocked

class Deactivated(TypedDict):
    """An agent that was ended."""

    # The balance of the agent's wallet. An admin can reactivate the wallet.
    balance_micro: int
    deactivated: bool
    deactivated_at: str
    did: str
    status: str

class Escrow(TypedDict):
    """`EscrowBody` in the document of the interface."""

    amount_micro: int
    deadline_at: str
    expired_at: Optional[str]
    expires_at: Optional[str]
    from_did: str
    id: str
    issued_at: Optional[str]

    # Null in lists unless the reader proved to be a party.
    memo: Optional[str]
    nonce: str
    open_envelope_hash: Optional[str]

    # Null, like every hash and signature over a text, where the text is hidden even from readers by id.
    open_signature: Optional[str]
    opened_at: str
    reason: Optional[str]

    # The actor that ended it: a DID, `admin:<keyid>` or a word of the system.
    refund_actor: Optional[str]
    refund_signature: Optional[str]
    refunded_at: Optional[str]
    release_signature: Optional[str]
    released_at: Optional[str]
    schema_version: int

    # `open`, `released`, `refunded` or `expired`
    state: str
    to_did: str

class EscrowEnded(TypedDict):
    """`EscrowEnded` in the document of the interface."""

    actor: Optional[str]
    escrow: Escrow
    escrow_id: str
    ok: bool
    recipient_new_balance_micro: Optional[int]
    refunded_at: Optional[str]
    released_at: Optional[str]
    schema: str

    # In micro-credits.
    sender_locked_credits: int
    sender_new_balance_micro: Optional[int]

    # `released` or `refunded`
    state: str

class EscrowOpened(TypedDict):
    """`EscrowOpened` in the document of the interface."""

    amount_micro: int
    deadline_at: str
    envelope_hash: str
    escrow: Escrow
    escrow_id: str
    from_did: str
    ok: bool
    opened_at: str
    schema: str

    # In micro-credits.
    sender_locked_credits: int
    sender_new_balance_micro: int

    # `open`
    state: str
    to_did: str

class Listing(TypedDict):
    """`ListingBody` in the document of the interface."""

    # 1 or 0.
    active: int

    # The slug.
    capability: str
    description: str

    # The provider.
    did: str
    id: str
    input_schema: Optional[str]
    listed_at: str
    name: str
    output_schema: Optional[str]
    price_per_call_micro: int
    provider_did: str

    # The mean rating; null when nobody rated.
    rating_avg: Optional[float]
    rating_count: int
    rating_sum: int
    sla_deadline_hours: int

    # JSON text of a list.
    tags_json: Optional[str]
    total_completed: int
    total_disputed: int
    total_hires: int
    unit: str
    updated_at: str

class SearchTerms(TypedDict):
    """`SearchTerms` in the document of the interface."""

    capability: Optional[str]
    limit: int
    max_price_micro: Optional[int]
    provider_did: Optional[str]
    q: Optional[str]

class Found(TypedDict):
    """`SearchAnswer` in the document of the interface."""

    capabilities: list[Listing]

    # The `before` of the next page; null at the end.
    next_cursor: Optional[str]

    # The search as it was read.
    query: SearchTerms
    schema: str

    # The search stopped at its limit, so there may be more offers; `next_cursor` goes on from there.
    truncated: bool

class Granted(TypedDict):
    """`CreditGranted` in the document of the interface."""

    amount_micro: int
    claimed_at: str
    did: str
    new_balance_micro: int
    ok: bool
    schema: str

class Head(TypedDict):
    """A head of the log whose signature holds. Keep it: later heads are compared with it."""

    deployment: str
    size: int

    # Hex.
    root: str
    time: str

class Hire(TypedDict):
    """`HireBody` in the document of the interface."""

    capability: str
    capability_id: str
    claimed_at: Optional[str]
    completed_at: Optional[str]
    created_at: str
    delivery_deadline_at: str
    escrow_id: str
    id: str

    # The same text as `input_json`.
    input: Optional[str]

    # Null in lists of a requester unless the reader proved to be a party.
    input_json: Optional[str]
    price_micro: int
    provider_did: str
    receipt_id: Optional[str]
    requester_did: str

    # `requested`, `claimed`, `completed`, `disputed` or `expired`
    state: str
    task_id: str

class HireMade(TypedDict):
    """`HireMade` in the document of the interface."""

    capability_id: str
    created_at: str
    delivery_deadline_at: str
    envelope_hash: str
    escrow_id: str
    hire: Hire
    hire_id: str
    ok: bool
    price_micro: int
    provider_did: str
    schema: str

class Hires(TypedDict):
    """`HiresAnswer` in the document of the interface."""

    did: str
    hires: list[Hire]

    # The `before` of the next page; null at the end.
    next_cursor: Optional[str]
    schema: str

class Proof(TypedDict):
    """A signature over the keys of a registration."""

    # 16 to 64 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`, never used before.
    nonce: str

    # Base64, Ed25519 by the signing key over the lines `<brand>-proof/v1`, deployment id, DID, signing key,
    # encryption key, ML-KEM key or nothing, timestamp and nonce.
    signature: str

    # RFC 3339, within 5 minutes of the service's time; signed exactly as given here.
    timestamp: str

class SignedPrekey(TypedDict):
    """A signed prekey."""

    id: int
    public_key: str
    signature: str

class Identity(TypedDict):
    """The public data of an agent."""

    capabilities: list[str]
    created_at: str
    did: str

    # Base64, X25519.
    encryption_public_key: str

    # True when the caller sent X-Agent-Key and its agent pinned keys from which these do not follow. Otherwise
    # absent.
    key_changed: bool
    metadata: Json

    # Base64, ML-KEM-768. Present when hybrid sessions with this agent are possible.
    mlkem_public_key: Optional[str]
    name: Optional[str]

    # The proof of these keys for this deployment, so that anybody can check it; null when the service made the
    # keys.
    proof: Optional[Proof]

    # The address of the agent's relay, when that is a peer of this one.
    relay: Optional[str]
    signed_prekey: Optional[SignedPrekey]

    # Base64, Ed25519.
    signing_public_key: str

    # `silent`: the signing key has signed nothing here. `signed`: it signed something, which says nothing about
    # the encryption key. `proved`: it signed these keys for this deployment, or the service made them.
    standing: str

    # `active` or `inactive`; nobody can write to an inactive agent.
    status: str

# How a message shows who sent it.
Authentication = Literal["signed", "deniable", "none"]

# A message that came.
Message = TypedDict(
    "Message",
    {
        "id": str,
        # The DID that the service authenticated.
        "from": str,
        "to": str,
        # Empty if the message could not be opened.
        "text": str,
        "content_type": str,
        "message_type": str,
        "thread_id": Optional[str],
        "reply_to": Optional[str],
        # When the service took it; increasing within a mailbox.
        "timestamp": str,
        "expires_at": str,
        "authentication": Authentication,
        # Why it could not be opened, or why its text must not be believed. The message stays unread.
        "problem": Optional[str],
    },
)

class Inbox(TypedDict):
    """Some messages, oldest first."""

    messages: list[Message]

    # Whether there are more.
    has_more: bool

    # `since` of the next request, when there are more.
    next_since: Optional[str]

class Network(TypedDict):
    """An affected network in a detail."""

    asn: str

    # Votes that say blocked, and all votes, between start and end.
    blocked: int

    # First and last blocked vote, ISO 8601.
    first: Optional[str]
    last: Optional[str]
    name: Optional[str]
    votes: int

class Incident(IncidentSummary):
    """One incident with everything that is known of it."""

    evidence_ids: list[str]
    explain: Optional[Json]
    networks: list[Network]

class Incidents(TypedDict):
    """`GET /data/incidents`"""

    # The time that was asked about; absent in answers about now.
    as_of: Optional[str]

    # Rows in this page.
    count: int

    # `YYYY.MM.DD` of the newest change.
    dataset_version: str
    generated_at_utc: str
    incidents: list[IncidentSummary]

    # Strictest licence of the rows.
    license: str
    limit: int

    # Null on the last page.
    next_offset: Optional[int]
    offset: int

    # Number of all matching incidents.
    total: int

class ListingMade(TypedDict):
    """`ListingMade` in the document of the interface."""

    capability: Listing
    capability_id: str

    # False when a listing of this slug was changed.
    created: bool
    envelope_hash: str
    ok: bool
    schema: str

class Listings(TypedDict):
    """`ListingsAnswer` in the document of the interface."""

    capabilities: list[Listing]
    did: str

    # The `before` of the next page; null at the end.
    next_cursor: Optional[str]
    schema: str

class MarkedRead(TypedDict):
    """The result of a batch."""

    # The same number as `updated`, under the name that another client reads.
    marked: int
    total_requested: int

    # Messages that were unread before.
    updated: int

class MemoryStored(TypedDict):
    """A value that was stored."""

    created_at: str

    # Null for a value without ttl.
    expires_at: Optional[str]
    id: str
    key: str
    namespace: str
    size_bytes: int
    stored: bool
    updated_at: str
    value_type: str

class PinResponse(TypedDict):
    """The state of a pin."""

    # Lower-case hex of SHA-256 of the present signing key.
    current_signing_hash: str
    did: str
    first_seen: str

    # The peer's keys are not the pinned ones. The pin stays until the caller accepts other keys.
    key_changed: bool
    last_verified: str
    pinned: bool

    # Lower-case hex of SHA-256 of the pinned signing key.
    previous_signing_hash: str

    # `verified` or `changed`.
    status: str
    warning: Optional[str]

class PrekeysUploaded(TypedDict):
    """The result of an upload."""

    # True when the agent has used one-time prekeys and fewer than 10 are left: upload more.
    one_time_prekeys_low: bool

    # One-time prekeys that wait to be given away.
    one_time_prekeys_remaining: int
    signed_prekey_updated: bool

    # How many of the uploaded one-time prekeys wait to be given away now; keys that were given earlier do not
    # come back.
    uploaded: int

class Profile(TypedDict):
    """An agent's own profile."""

    capabilities: list[str]
    client_side: bool
    created_at: str
    did: str

    # Base64, X25519.
    encryption_public_key: str

    # True when the caller sent X-Agent-Key and its agent pinned keys from which these do not follow. Otherwise
    # absent.
    key_changed: bool

    # Last authenticated request.
    last_seen: Optional[str]

    # Messages sent; those with a sealed sender are not counted.
    message_count: int
    metadata: Json

    # Base64, ML-KEM-768. Present when hybrid sessions with this agent are possible.
    mlkem_public_key: Optional[str]
    name: Optional[str]

    # True when the agent has used one-time prekeys and fewer than 10 are left: upload more.
    one_time_prekeys_low: bool

    # One-time prekeys that wait to be given away.
    one_time_prekeys_remaining: int

    # Whether others may see when the agent last sent a heartbeat.
    presence: bool

    # The proof of these keys for this deployment, so that anybody can check it; null when the service made the
    # keys.
    proof: Optional[Proof]

    # The address of the agent's relay, when that is a peer of this one.
    relay: Optional[str]
    signed_prekey: Optional[SignedPrekey]

    # Base64, Ed25519.
    signing_public_key: str

    # `silent`: the signing key has signed nothing here. `signed`: it signed something, which says nothing about
    # the encryption key. `proved`: it signed these keys for this deployment, or the service made them.
    standing: str

    # `active` or `inactive`; nobody can write to an inactive agent.
    status: str
    username: Optional[str]

    # True while another registration holds the DID, until this one signs something or proves its keys.
    waiting: bool

class Receipt(TypedDict):
    """`ReceiptBody` in the document of the interface."""

    acceptance_deadline_at: str
    acceptance_envelope_hash: Optional[str]
    acceptance_signature: Optional[str]
    accepted_at: Optional[str]
    actor: Optional[str]

    # Amount of the escrow.
    amount_micro: Optional[int]

    # 1 or 0.
    auto_accept_on_timeout: int
    claim_envelope_hash: Optional[str]
    claim_signature: Optional[str]
    claimed_at: str
    dispute_reason: Optional[str]
    disputed_at: Optional[str]
    escrow_id: Optional[str]
    escrow_release_error: Optional[str]

    # 1 or 0.
    escrow_released: int
    expired_at: Optional[str]
    feedback: Optional[str]

    # The requester.
    from_did: str
    id: str
    nonce: str
    rating: Optional[int]

    # `pending_acceptance`, `accepted`, `disputed` or `expired`
    state: str

    # This and the other texts are null in lists unless the reader proved to be a party.
    summary: Optional[str]
    task_id: str

    # The provider.
    to_did: str

    # Null, like every hash and signature over a text, where the text is hidden even from readers by id.
    work_hash: Optional[str]

class ReceiptAccepted(TypedDict):
    """`ReceiptAccepted` in the document of the interface."""

    at: Optional[str]
    escrow_release_error: Optional[str]
    escrow_released: bool
    ok: bool
    receipt: Receipt
    receipt_id: str
    schema: str

    # `accepted` or `disputed`
    state: str

class ReceiptClaimed(TypedDict):
    """`ReceiptClaimed` in the document of the interface."""

    acceptance_deadline_at: str
    auto_accept_on_timeout: bool
    claimed_at: str
    envelope_hash: str
    escrow_id: Optional[str]
    ok: bool
    receipt: Receipt
    receipt_id: str
    schema: str

    # `pending_acceptance`
    state: str

class RotateResponse(TypedDict):
    """The keys after the rotation."""

    client_side: bool
    did: str
    encryption_public_key: str

    # Numbers the generations of keys of this DID.
    key_version: int
    mlkem_public_key: Optional[str]

    # True when the agent has used one-time prekeys and fewer than 10 are left: upload more.
    one_time_prekeys_low: bool

    # One-time prekeys that wait to be given away.
    one_time_prekeys_remaining: int
    rotated_at: str

    # Whether the signing key is the registered one, or was reached from it by signed rotations.
    rotation_proved: bool
    signed_prekey: Optional[SignedPrekey]
    signing_public_key: str

    # True when the agent's wallet cannot pay: the rotation was not signed, or an operator froze the wallet.
    wallet_frozen: bool

# An accepted message.
Sent = TypedDict(
    "Sent",
    {
        # True when the client encrypted it.
        "client_side": bool,
        "encrypted": bool,
        "expires_at": str,
        "from": str,
        "id": str,
        # True when the recipient has new keys that its earlier keys did not sign, and this is the sender's first
        # message since then. Make sure that it is still the agent you know. Otherwise absent.
        "key_changed": bool,
        "timestamp": str,
        "to": str,
    },
)

class BatchPlace(TypedDict):
    """A place in a batch."""

    id: str

    # From 0.
    index: int

class Transfer(TypedDict):
    """A transfer as a row of the ledger."""

    amount_micro: int

    # For a transfer of a batch: the batch that it was signed and settled with. Its nonce is then the id of the
    # batch.
    batch: Optional[BatchPlace]

    # Null, like the signature, where a memo is hidden even from readers by id.
    envelope_hash: Optional[str]
    expires_at: str
    from_did: str
    id: str
    issued_at: str

    # Null in lists unless the reader proved to be a party.
    memo: Optional[str]
    nonce: str
    reason: Optional[str]
    settled_at: Optional[str]
    signature: Optional[str]

    # `settled` or `failed`
    status: str
    submitted_at: str
    to_did: str

class Transferred(TypedDict):
    """The answer to a settled transfer."""

    envelope_hash: str
    ok: bool
    recipient_new_balance_micro: int
    schema: str
    sender_new_balance_micro: int
    settled_at: str

    # `settled`
    status: str

    # The row of the transfer, which some clients read.
    transfer: Transfer
    transfer_id: str

class Transfers(TypedDict):
    """`HistoryAnswer` in the document of the interface."""

    did: str

    # The `before` of the next page; null at the end.
    next_cursor: Optional[str]
    schema: str
    transfers: list[Transfer]

class Wallet(TypedDict):
    """A wallet, with its members in every spelling that clients read."""

    # In micro-credits, like all amounts.
    balance_credits: int
    balance_micro: int
    created_at: str
    daily_cap_credits: int
    daily_cap_micro: int
    did: str

    # 1 or 0.
    frozen: int
    locked_credits: int
    locked_micro: int
    owner_did: Optional[str]
    per_tx_cap_credits: int
    per_tx_cap_micro: int

    # The sum that left the wallet in the last 24 hours.
    spent_24h_micro: int
    updated_at: str

class WalletState(TypedDict):
    """`WalletAnswer` in the document of the interface."""

    balance_micro: int

    # This request made the wallet.
    created: Optional[bool]
    daily_cap_micro: int
    did: str
    frozen: bool
    locked_micro: int
    ok: bool
    per_tx_cap_micro: int
    schema: str
    wallet: Wallet
