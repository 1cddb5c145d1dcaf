/** What the service answers. Written from the types in Rust by a test (HELIOGRAPH_UPDATE_GOLDEN=1 cargo test -p heliograph-client --test types). */

import type { Json } from './index.js';

/** What an answer took. */
export interface DbStats {
  /** Measurements that were read. */
  row_count: number;
}

/** What measurements vote. The other four sum to `measurement_count`. */
export interface AggregationCounts {
  /** Measurements that vote blocked without a known block page. */
  anomaly_count: number;
  /** Measurements that vote blocked because a known block page was recognised. */
  confirmed_count: number;
  /** Measurements without a vote. */
  failure_count: number;
  measurement_count: number;
  /** Measurements that vote accessible. */
  ok_count: number;
}

/** Counts, and the values on the axes that were asked for. */
export interface AggregationRow extends AggregationCounts {
  /**
   * `dns`, `tcp_ip`, `tls`, `http-failure`, `http-diff`; `unknown` if nothing tells how it is blocked, empty if it is
   * not blocked.
   */
  blocking_type?: string | null;
  /** Empty if no list has the domain. */
  category_code?: string | null;
  /** A domain, or a role of a service such as `telegram/pool`. */
  domain?: string | null;
  /** The beginning of a span of the grain: a day, or an hour such as `2023-11-08T11:00:00Z`. */
  measurement_start_day?: string | null;
  /** 0 if the network is withheld. */
  probe_asn?: number | null;
  probe_cc?: string | null;
  /** Empty if nothing tells it. */
  test_name?: string | null;
}

/** Rows if there are axes, else the counts of everything. */
export type AggregationResult = AggregationRow[] | AggregationCounts;

/** `AggregationBody` in the document of the interface. */
export interface Aggregation {
  db_stats: DbStats;
  /** Number of axes. */
  dimension_count: number;
  /** What they leave out. */
  left_out: string;
  license: string;
  /** What the counts are. */
  method: string;
  result: AggregationResult;
  /** The first moment of the range, and the first after it. */
  since: string;
  /** The grain of `measurement_start_day`: `hour`, `day`, `week` (from Sunday on), `month` or `year`. */
  time_grain: string;
  until: string;
  /** 0 */
  v: number;
}

/** An incident as lists have it. `Incident` and `ChangedIncident` have these members, and more. */
export interface IncidentSummary {
  /** `AS<number>`. */
  affectedAsns: string[];
  affectedDomains: string[];
  affectedServices: string[];
  /** Share of the votes between start and end that say blocked, 0 to 1. */
  anomalyRate: number;
  areas?: string[];
  blockingMethods: string[];
  /** Whether its type is censorship or mixed, and it is more than suspected. */
  citable: boolean;
  /** Address of this version, for ever. */
  citationUrl: string;
  /** 0 to 1. */
  confidence: number;
  country: string;
  /** Also as `country_name`. */
  countryName: string;
  /** Also as `created_at`. */
  createdAt: string;
  /**
   * When there was enough data to say that it began, and that it is over. These times are later than the dates
   * themselves. Absent where nothing was measured, and while it is not over.
   */
  declaredTime?: string | null;
  /** The operator's words, or the summary if there are none. */
  description: string;
  domains: string[];
  /** Absent while it goes on. */
  endTime?: string | null;
  /**
   * Whether nobody said when it ended. It stays active for some time after it was last said to go on, and is
   * resolved later. Then `endTime` equals `lastConfirmedAt`.
   */
  endUnknown: boolean;
  /** All evidence, of which the incident itself keeps at most 50 rows. */
  evidenceCount: number;
  flag: string;
  /** The readable id, `<CC>-<year>-<sequence>`. */
  hashId: string;
  /** 12 hexadecimal digits. */
  id: string;
  incidentHash: string;
  incidentType: string;
  /** When it was last said or measured to go on; absent where the end is known. */
  lastConfirmedAt?: string | null;
  /** Strictest licence of the sources. */
  license: string;
  measurementCount: number;
  /** Incidents that operators merged into this one. */
  mergedFrom?: string[];
  /** The id of the incident that it was merged into. */
  mergedInto?: string | null;
  networksBlocked: number;
  networksTested: number;
  notKnown: string[];
  occasion?: string | null;
  pattern?: string | null;
  permalink: string;
  /** Also as `readable_id`. */
  readableId: string;
  reportUrl: string;
  resolvedTime?: string | null;
  /** Why it was withdrawn. */
  retracted?: string | null;
  schedule?: string | null;
  /** The codes of `title`, `summary` and `notKnown`. A title that an operator wrote has none. */
  sentences?: Json;
  severity: string;
  /** Share of the weight of tested networks that is affected, 0 to 1. */
  shareAffected: number;
  sources: string[];
  startTime: string;
  /**
   * Whether it already went on when it was first measured, at `startTime`. It began before, and it is not
   * known when.
   */
  startUnknown: boolean;
  status: string;
  /** One plain sentence with numbers. */
  summary: string;
  title: string;
  /** With six fractional digits, since it is the cursor of the delta. */
  updatedAt: string;
  /** From 1. `permalink` with `?version=` leads to this version for ever. */
  version: number;
}

/** An incident that changed. */
export interface ChangedIncident extends IncidentSummary {
  /** `created`, `updated`, `merged` (see `mergedInto`) or `retracted` (see `retracted`). */
  change: string;
}

/** Incidents changed after `since`, oldest change first. Each is listed once, in its present state. */
export interface Changes {
  count: number;
  dataset_version: string;
  generated_at_utc: string;
  has_more: boolean;
  incidents: ChangedIncident[];
  license: string;
  /** Use this value in the next request. So nothing is missed and nothing comes twice. */
  next_since: string;
  /** The same as in the request. */
  since: string;
}

/** An incident that an answer names. */
export interface IncidentLead {
  country: string;
  /** Absent while the incident goes on. In answers about the past, absent while it went on then. */
  endTime?: string | null;
  /** True if no source said when it ended. Then `endTime` is when it was last said to go on. */
  endUnknown: boolean;
  /** The readable id. */
  id: string;
  sentences?: Json;
  startTime: string;
  status: string;
  summary: string;
  title: string;
  url: string;
}

/** A block list that names the subject. */
export interface ListEntry {
  /** The date of the list. */
  date: string;
  /** `official`, `court`, `leak`, `documented` or `community`. */
  kind: string;
  /** Since when the list has the entry, if the list says so. */
  since?: string | null;
  /** The source that documents a documented block. */
  source?: string | null;
}

/** The platform that a site belongs to, and its status in the asked country. */
export interface PlatformLead {
  basis: string;
  confidence: number;
  /** Whether the platform is blocked when the site is. */
  essential: boolean;
  evidenceCount: number;
  label: string;
  lastChecked: string;
  /** The role of the site in the platform, such as `website`; null if a target list does not say. */
  role?: string | null;
  sentences?: Json;
  slug: string;
  staleSince?: string | null;
  status: string;
  summary: string;
  url: string;
}

/** A check: an answer, and whether the domain can be reached. */
export interface Check {
  /** 1 reachable, 0 blocked, null unknown. */
  accessibilityScore?: number | null;
  accessible?: boolean | null;
  as_of?: string | null;
  basis: string;
  blockingMethod?: string | null;
  /** Time of this answer. */
  checkedAt: string;
  confidence: number;
  country: string;
  countryName: string;
  /** The domain as asked. */
  domain: string;
  evidenceCount: number;
  evidenceStrength: number;
  explanation?: Json | null;
  /** Time of the newest counted measurement, or of the list. */
  lastChecked: string;
  /**
   * The latest incident about the subject or its platform in this country, if the status is unknown. Not in
   * answers about many subjects.
   */
  latestIncident?: IncidentLead | null;
  license: string;
  listed: boolean;
  lists: ListEntry[];
  methods: string[];
  networksBlocked: number;
  networksTested: number;
  /** The platform that the subject belongs to. Not in answers about many subjects. */
  platform?: PlatformLead | null;
  reason?: string | null;
  samples: number;
  scope?: string | null;
  /** The code of `summary`, or the codes of its sentences. */
  sentences?: Json;
  sources: string[];
  /** When the newest measurement became too old to count. */
  staleSince?: string | null;
  status: string;
  /**
   * The answer in one sentence, followed by sentences about the platform and the latest incident if there are
   * any.
   */
  summary: string;
  technique?: string | null;
}

/** The verdict on what was checked of a claim, where something of it was not. */
export interface ClaimCore {
  /** How sure that verdict is, 0 to 1; 0 without data. */
  confidence: number;
  verdict: string;
}

/** `ClaimEvidence` in the document of the interface. */
export interface ClaimEvidence {
  /** What this row says. */
  claim: string;
  confidence: number;
  kind: string;
  observedAt: string;
  permalink?: string | null;
  sentences?: Json;
  source: string;
}

/** An incident that bears on the claim. */
export interface ClaimIncident {
  confidence: number;
  /** Nobody said when it ended: it is known to have gone on until `lastConfirmedAt`. */
  endUnknown: boolean;
  id: string;
  lastConfirmedAt?: string | null;
  permalink: string;
  /** The code of `title`, unless an operator wrote it. */
  sentences?: Json;
  severity: string;
  startTime: string;
  /** It was there when it was first measured: it began before `startTime`. */
  startUnknown: boolean;
  status: string;
  title: string;
  type: string;
}

/** A network as the claim names it, with what measurements know of it. */
export interface ClaimNetwork {
  /** `None` when only a name is known. */
  asn?: number | null;
  name?: string | null;
}

/** What the data say to one of several topics, countries and statements. */
export interface ClaimTopic {
  confidence: number;
  contradicted: boolean;
  country_code: string;
  /** The statement is that it is not, or no longer, so. */
  negated: boolean;
  /** The network that was looked at, when the statement is about one. */
  network?: ClaimNetwork | null;
  reason: string;
  sentences?: Json;
  service: string;
  verdict: string;
}

/** `ClaimBody` in the document of the interface. */
export interface ClaimVerdict {
  citation?: string | null;
  claim: string;
  /** How sure the verdict is, 0 to 1; 0 without data. */
  confidence: number;
  /** The data decide the opposite of the claim. */
  contradicted: boolean;
  /** The verdict on the rest of the claim, where something is unchecked and nothing is contradicted. */
  core?: ClaimCore | null;
  evidence?: ClaimEvidence[] | null;
  generated_at: string;
  incidents: ClaimIncident[];
  license: string;
  parsed?: Json;
  /** One sentence. */
  reason: string;
  sentences?: Json;
  topics: ClaimTopic[];
  /** What of the claim nobody checked, in its words: with any, `verdict` is `unconfirmed` at best. */
  unchecked: string[];
  verdict: string;
}

/** An active incident, as a page lists it. */
export interface ActiveIncident {
  id: string;
  /** The code of `title`, unless an operator wrote it. */
  sentences?: Json;
  severity: string;
  title: string;
  type: string;
}

/** A source of the numbers, and its licence. */
export interface SourceLicense {
  license: string;
  source: string;
}

/** `/v1/censorship-index/{code}` */
export interface Country {
  /** The incidents that are active now; absent in answers about the past. */
  activeIncidents: ActiveIncident[];
  as_of?: string | null;
  /** The country code. */
  country: string;
  effectiveLicense: string;
  /** Time of the newest measurement; null if there is none. */
  lastChecked?: string | null;
  license: string;
  name: string;
  ooni?: Json | null;
  score?: number | null;
  sourceLicenses: SourceLicense[];
  /** When the newest measurement became too old to count; absent while any counts. */
  staleSince?: string | null;
  status: string;
  timestamp: string;
}

/** Something that a list names, and no measurement decides. */
export interface ListedBlock {
  /** `known_list` */
  basis: string;
  /** The date of the list. */
  date: string;
  /** `official`, `court`, `leak` or `documented`. */
  kind: string;
  label: string;
  /** Since when the list has the entry, if the list says so. */
  since?: string | null;
  /** The source that documents a documented block. */
  source?: string | null;
  /** A domain, or the slug of a platform. */
  target: string;
}

/** What is blocked in a country. */
export interface Blocked {
  /** Slugs of platforms that measurements find blocked. */
  affectedServices: string[];
  /** Domains that measurements find blocked. */
  blockedDomains: string[];
  /** What lists and documented facts say is blocked where no measurement decides; at most 50. */
  listedBlocked: ListedBlock[];
  /** Entries of lists and facts that count here, including those about sites that measurements decide. */
  listedCount: number;
}

/** `/data/country/{code}`, as far as it says more than `Country`. */
export interface CountryPage {
  /** Why there is no score; null if there is one. */
  reason?: string | null;
  data: Blocked;
}

/** An agent that was ended. */
export interface Deactivated {
  /** The balance of the agent's wallet. An admin can reactivate the wallet. */
  balance_micro: number;
  deactivated: boolean;
  deactivated_at: string;
  did: string;
  status: string;
}

/** `EscrowBody` in the document of the interface. */
export interface Escrow {
  amount_micro: number;
  deadline_at: string;
  expired_at?: string | null;
  expires_at?: string | null;
  from_did: string;
  id: string;
  issued_at?: string | null;
  /** Null in lists unless the reader proved to be a party. */
  memo?: string | null;
  nonce: string;
  open_envelope_hash?: string | null;
  /** Null, like every hash and signature over a text, where the text is hidden even from readers by id. */
  open_signature?: string | null;
  opened_at: string;
  reason?: string | null;
  /** The actor that ended it: a DID, `admin:<keyid>` or a word of the system. */
  refund_actor?: string | null;
  refund_signature?: string | null;
  refunded_at?: string | null;
  release_signature?: string | null;
  released_at?: string | null;
  schema_version: number;
  /** `open`, `released`, `refunded` or `expired` */
  state: string;
  to_did: string;
}

/** `EscrowEnded` in the document of the interface. */
export interface EscrowEnded {
  actor?: string | null;
  escrow: Escrow;
  escrow_id: string;
  ok: boolean;
  recipient_new_balance_micro?: number | null;
  refunded_at?: string | null;
  released_at?: string | null;
  schema: string;
  /** In micro-credits. */
  sender_locked_credits: number;
  sender_new_balance_micro?: number | null;
  /** `released` or `refunded` */
  state: string;
}

/** `EscrowOpened` in the document of the interface. */
export interface EscrowOpened {
  amount_micro: number;
  deadline_at: string;
  envelope_hash: string;
  escrow: Escrow;
  escrow_id: string;
  from_did: string;
  ok: boolean;
  opened_at: string;
  schema: string;
  /** In micro-credits. */
  sender_locked_credits: number;
  sender_new_balance_micro: number;
  /** `open` */
  state: string;
  to_did: string;
}

/** `ListingBody` in the document of the interface. */
export interface Listing {
  /** 1 or 0. */
  active: number;
  /** The slug. */
  capability: string;
  description: string;
  /** The provider. */
  did: string;
  id: string;
  input_schema?: string | null;
  listed_at: string;
  name: string;
  output_schema?: string | null;
  price_per_call_micro: number;
  provider_did: string;
  /** The mean rating; null when nobody rated. */
  rating_avg?: number | null;
  rating_count: number;
  rating_sum: number;
  sla_deadline_hours: number;
  /** JSON text of a list. */
  tags_json?: string | null;
  total_completed: number;
  total_disputed: number;
  total_hires: number;
  unit: string;
  updated_at: string;
}

/** `SearchTerms` in the document of the interface. */
export interface SearchTerms {
  capability?: string | null;
  limit: number;
  max_price_micro?: number | null;
  provider_did?: string | null;
  q?: string | null;
}

/** `SearchAnswer` in the document of the interface. */
export interface Found {
  capabilities: Listing[];
  /** The `before` of the next page; null at the end. */
  next_cursor?: string | null;
  /** The search as it was read. */
  query: SearchTerms;
  schema: string;
  /** The search stopped at its limit, so there may be more offers; `next_cursor` goes on from there. */
  truncated: boolean;
}

/** `CreditGranted` in the document of the interface. */
export interface Granted {
  amount_micro: number;
  claimed_at: string;
  did: string;
  new_balance_micro: number;
  ok: boolean;
  schema: string;
}

/** A head of the log whose signature holds. Keep it: later heads are compared with it. */
export interface Head {
  deployment: string;
  size: number;
  /** Hex. */
  root: string;
  time: string;
}

/** `HireBody` in the document of the interface. */
export interface Hire {
  capability: string;
  capability_id: string;
  claimed_at?: string | null;
  completed_at?: string | null;
  created_at: string;
  delivery_deadline_at: string;
  escrow_id: string;
  id: string;
  /** The same text as `input_json`. */
  input?: string | null;
  /** Null in lists of a requester unless the reader proved to be a party. */
  input_json?: string | null;
  price_micro: number;
  provider_did: string;
  receipt_id?: string | null;
  requester_did: string;
  /** `requested`, `claimed`, `completed`, `disputed` or `expired` */
  state: string;
  task_id: string;
}

/** `HireMade` in the document of the interface. */
export interface HireMade {
  capability_id: string;
  created_at: string;
  delivery_deadline_at: string;
  envelope_hash: string;
  escrow_id: string;
  hire: Hire;
  hire_id: string;
  ok: boolean;
  price_micro: number;
  provider_did: string;
  schema: string;
}

/** `HiresAnswer` in the document of the interface. */
export interface Hires {
  did: string;
  hires: Hire[];
  /** The `before` of the next page; null at the end. */
  next_cursor?: string | null;
  schema: string;
}

/** A signature over the keys of a registration. */
export interface Proof {
  /** 16 to 64 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`, never used before. */
  nonce: string;
  /**
   * Base64, Ed25519 by the signing key over the lines `<brand>-proof/v1`, deployment id, DID, signing key,
   * encryption key, ML-KEM key or nothing, timestamp and nonce.
   */
  signature: string;
  /** RFC 3339, within 5 minutes of the service's time; signed exactly as given here. */
  timestamp: string;
}

/** A signed prekey. */
export interface SignedPrekey {
  id: number;
  public_key: string;
  signature: string;
}

/** The public data of an agent. */
export interface Identity {
  capabilities: string[];
  created_at: string;
  did: string;
  /** Base64, X25519. */
  encryption_public_key: string;
  /**
   * True when the caller sent X-Agent-Key and its agent pinned keys from which these do not follow. Otherwise
   * absent.
   */
  key_changed?: boolean;
  metadata?: Json;
  /** Base64, ML-KEM-768. Present when hybrid sessions with this agent are possible. */
  mlkem_public_key?: string | null;
  name?: string | null;
  /**
   * The proof of these keys for this deployment, so that anybody can check it; null when the service made the
   * keys.
   */
  proof?: Proof | null;
  /** The address of the agent's relay, when that is a peer of this one. */
  relay?: string | null;
  signed_prekey?: SignedPrekey | null;
  /** Base64, Ed25519. */
  signing_public_key: string;
  /**
   * `silent`: the signing key has signed nothing here. `signed`: it signed something, which says nothing about
   * the encryption key. `proved`: it signed these keys for this deployment, or the service made them.
   */
  standing: string;
  /** `active` or `inactive`; nobody can write to an inactive agent. */
  status: string;
}

/** How a message shows who sent it. */
export type Authentication = 'signed' | 'deniable' | 'none';

/** A message that came. */
export interface Message {
  id: string;
  /** The DID that the service authenticated. */
  from: string;
  to: string;
  /** Empty if the message could not be opened. */
  text: string;
  content_type: string;
  message_type: string;
  thread_id: string | null;
  reply_to: string | null;
  /** When the service took it; increasing within a mailbox. */
  timestamp: string;
  expires_at: string;
  authentication: Authentication;
  /** Why it could not be opened, or why its text must not be believed. The message stays unread. */
  problem: string | null;
}

/** Some messages, oldest first. */
export interface Inbox {
  messages: Message[];
  /** Whether there are more. */
  has_more: boolean;
  /** `since` of the next request, when there are more. */
  next_since: string | null;
}

/** An affected network in a detail. */
export interface Network {
  asn: string;
  /** Votes that say blocked, and all votes, between start and end. */
  blocked: number;
  /** First and last blocked vote, ISO 8601. */
  first?: string | null;
  last?: string | null;
  name?: string | null;
  votes: number;
}

/** One incident with everything that is known of it. */
export interface Incident extends IncidentSummary {
  evidence_ids: string[];
  explain?: Json | null;
  networks: Network[];
}

/** `GET /data/incidents` */
export interface Incidents {
  /** The time that was asked about; absent in answers about now. */
  as_of?: string | null;
  /** Rows in this page. */
  count: number;
  /** `YYYY.MM.DD` of the newest change. */
  dataset_version: string;
  generated_at_utc: string;
  incidents: IncidentSummary[];
  /** Strictest licence of the rows. */
  license: string;
  limit: number;
  /** Null on the last page. */
  next_offset?: number | null;
  offset: number;
  /** Number of all matching incidents. */
  total: number;
}

/** `ListingMade` in the document of the interface. */
export interface ListingMade {
  capability: Listing;
  capability_id: string;
  /** False when a listing of this slug was changed. */
  created: boolean;
  envelope_hash: string;
  ok: boolean;
  schema: string;
}

/** `ListingsAnswer` in the document of the interface. */
export interface Listings {
  capabilities: Listing[];
  did: string;
  /** The `before` of the next page; null at the end. */
  next_cursor?: string | null;
  schema: string;
}

/** The result of a batch. */
export interface MarkedRead {
  /** The same number as `updated`, under the name that another client reads. */
  marked: number;
  total_requested: number;
  /** Messages that were unread before. */
  updated: number;
}

/** A value that was stored. */
export interface MemoryStored {
  created_at: string;
  /** Null for a value without ttl. */
  expires_at?: string | null;
  id: string;
  key: string;
  namespace: string;
  size_bytes: number;
  stored: boolean;
  updated_at: string;
  value_type: string;
}

/** The state of a pin. */
export interface PinResponse {
  /** Lower-case hex of SHA-256 of the present signing key. */
  current_signing_hash: string;
  did: string;
  first_seen: string;
  /** The peer's keys are not the pinned ones. The pin stays until the caller accepts other keys. */
  key_changed: boolean;
  last_verified: string;
  pinned: boolean;
  /** Lower-case hex of SHA-256 of the pinned signing key. */
  previous_signing_hash: string;
  /** `verified` or `changed`. */
  status: string;
  warning?: string | null;
}

/** The result of an upload. */
export interface PrekeysUploaded {
  /** True when the agent has used one-time prekeys and fewer than 10 are left: upload more. */
  one_time_prekeys_low: boolean;
  /** One-time prekeys that wait to be given away. */
  one_time_prekeys_remaining: number;
  signed_prekey_updated: boolean;
  /**
   * How many of the uploaded one-time prekeys wait to be given away now; keys that were given earlier do not
   * come back.
   */
  uploaded: number;
}

/** An agent's own profile. */
export interface Profile {
  capabilities: string[];
  client_side: boolean;
  created_at: string;
  did: string;
  /** Base64, X25519. */
  encryption_public_key: string;
  /**
   * True when the caller sent X-Agent-Key and its agent pinned keys from which these do not follow. Otherwise
   * absent.
   */
  key_changed?: boolean;
  /** Last authenticated request. */
  last_seen?: string | null;
  /** Messages sent; those with a sealed sender are not counted. */
  message_count: number;
  metadata?: Json;
  /** Base64, ML-KEM-768. Present when hybrid sessions with this agent are possible. */
  mlkem_public_key?: string | null;
  name?: string | null;
  /** True when the agent has used one-time prekeys and fewer than 10 are left: upload more. */
  one_time_prekeys_low: boolean;
  /** One-time prekeys that wait to be given away. */
  one_time_prekeys_remaining: number;
  /** Whether others may see when the agent last sent a heartbeat. */
  presence: boolean;
  /**
   * The proof of these keys for this deployment, so that anybody can check it; null when the service made the
   * keys.
   */
  proof?: Proof | null;
  /** The address of the agent's relay, when that is a peer of this one. */
  relay?: string | null;
  signed_prekey?: SignedPrekey | null;
  /** Base64, Ed25519. */
  signing_public_key: string;
  /**
   * `silent`: the signing key has signed nothing here. `signed`: it signed something, which says nothing about
   * the encryption key. `proved`: it signed these keys for this deployment, or the service made them.
   */
  standing: string;
  /** `active` or `inactive`; nobody can write to an inactive agent. */
  status: string;
  username?: string | null;
  /** True while another registration holds the DID, until this one signs something or proves its keys. */
  waiting: boolean;
}

/** `ReceiptBody` in the document of the interface. */
export interface Receipt {
  acceptance_deadline_at: string;
  acceptance_envelope_hash?: string | null;
  acceptance_signature?: string | null;
  accepted_at?: string | null;
  actor?: string | null;
  /** Amount of the escrow. */
  amount_micro?: number | null;
  /** 1 or 0. */
  auto_accept_on_timeout: number;
  claim_envelope_hash?: string | null;
  claim_signature?: string | null;
  claimed_at: string;
  dispute_reason?: string | null;
  disputed_at?: string | null;
  escrow_id?: string | null;
  escrow_release_error?: string | null;
  /** 1 or 0. */
  escrow_released: number;
  expired_at?: string | null;
  feedback?: string | null;
  /** The requester. */
  from_did: string;
  id: string;
  nonce: string;
  rating?: number | null;
  /** `pending_acceptance`, `accepted`, `disputed` or `expired` */
  state: string;
  /** This and the other texts are null in lists unless the reader proved to be a party. */
  summary?: string | null;
  task_id: string;
  /** The provider. */
  to_did: string;
  /** Null, like every hash and signature over a text, where the text is hidden even from readers by id. */
  work_hash?: string | null;
}

/** `ReceiptAccepted` in the document of the interface. */
export interface ReceiptAccepted {
  at?: string | null;
  escrow_release_error?: string | null;
  escrow_released: boolean;
  ok: boolean;
  receipt: Receipt;
  receipt_id: string;
  schema: string;
  /** `accepted` or `disputed` */
  state: string;
}

/** `ReceiptClaimed` in the document of the interface. */
export interface ReceiptClaimed {
  acceptance_deadline_at: string;
  auto_accept_on_timeout: boolean;
  claimed_at: string;
  envelope_hash: string;
  escrow_id?: string | null;
  ok: boolean;
  receipt: Receipt;
  receipt_id: string;
  schema: string;
  /** `pending_acceptance` */
  state: string;
}

/** The keys after the rotation. */
export interface RotateResponse {
  client_side: boolean;
  did: string;
  encryption_public_key: string;
  /** Numbers the generations of keys of this DID. */
  key_version: number;
  mlkem_public_key?: string | null;
  /** True when the agent has used one-time prekeys and fewer than 10 are left: upload more. */
  one_time_prekeys_low: boolean;
  /** One-time prekeys that wait to be given away. */
  one_time_prekeys_remaining: number;
  rotated_at: string;
  /** Whether the signing key is the registered one, or was reached from it by signed rotations. */
  rotation_proved: boolean;
  signed_prekey?: SignedPrekey | null;
  signing_public_key: string;
  /** True when the agent's wallet cannot pay: the rotation was not signed, or an operator froze the wallet. */
  wallet_frozen: boolean;
}

/** An accepted message. */
export interface Sent {
  /** True when the client encrypted it. */
  client_side: boolean;
  encrypted: boolean;
  expires_at: string;
  from: string;
  id: string;
  /**
   * True when the recipient has new keys that its earlier keys did not sign, and this is the sender's first
   * message since then. Make sure that it is still the agent you know. Otherwise absent.
   */
  key_changed?: boolean;
  timestamp: string;
  to: string;
}

/** A place in a batch. */
export interface BatchPlace {
  id: string;
  /** From 0. */
  index: number;
}

/** A transfer as a row of the ledger. */
export interface Transfer {
  amount_micro: number;
  /**
   * For a transfer of a batch: the batch that it was signed and settled with. Its nonce is then the id of the
   * batch.
   */
  batch?: BatchPlace | null;
  /** Null, like the signature, where a memo is hidden even from readers by id. */
  envelope_hash?: string | null;
  expires_at: string;
  from_did: string;
  id: string;
  issued_at: string;
  /** Null in lists unless the reader proved to be a party. */
  memo?: string | null;
  nonce: string;
  reason?: string | null;
  settled_at?: string | null;
  signature?: string | null;
  /** `settled` or `failed` */
  status: string;
  submitted_at: string;
  to_did: string;
}

/** The answer to a settled transfer. */
export interface Transferred {
  envelope_hash: string;
  ok: boolean;
  recipient_new_balance_micro: number;
  schema: string;
  sender_new_balance_micro: number;
  settled_at: string;
  /** `settled` */
  status: string;
  /** The row of the transfer, which some clients read. */
  transfer: Transfer;
  transfer_id: string;
}

/** `HistoryAnswer` in the document of the interface. */
export interface Transfers {
  did: string;
  /** The `before` of the next page; null at the end. */
  next_cursor?: string | null;
  schema: string;
  transfers: Transfer[];
}

/** A wallet, with its members in every spelling that clients read. */
export interface Wallet {
  /** In micro-credits, like all amounts. */
  balance_credits: number;
  balance_micro: number;
  created_at: string;
  daily_cap_credits: number;
  daily_cap_micro: number;
  did: string;
  /** 1 or 0. */
  frozen: number;
  locked_credits: number;
  locked_micro: number;
  owner_did?: string | null;
  per_tx_cap_credits: number;
  per_tx_cap_micro: number;
  /** The sum that left the wallet in the last 24 hours. */
  spent_24h_micro: number;
  updated_at: string;
}

/** `WalletAnswer` in the document of the interface. */
export interface WalletState {
  balance_micro: number;
  /** This request made the wallet. */
  created?: boolean | null;
  daily_cap_micro: number;
  did: string;
  frozen: boolean;
  locked_micro: number;
  ok: boolean;
  per_tx_cap_micro: number;
  schema: string;
  wallet: Wallet;
}
