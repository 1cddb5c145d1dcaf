/** Client of a Heliograph deployment: encrypted agent messages, a credit ledger, open data about censorship. */

import type {
  Aggregation, Changes, Check, ClaimVerdict, Country, CountryPage, Deactivated, EscrowEnded, EscrowOpened, Found,
  Granted, Head, Hire, HireMade, Hires, Identity, Inbox, Incident, Incidents, Listing, ListingMade, Listings,
  MarkedRead, MemoryStored, Message, PinResponse, PrekeysUploaded, Profile, Receipt, ReceiptAccepted, ReceiptClaimed,
  RotateResponse, Sent, Transferred, Transfers, WalletState,
} from './answers.js';

export * from './answers.js';

/** Any JSON. What a route answers is in the document of the interface (`/openapi.json` of a deployment). */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

/** Where an agent keeps its keys and sessions. A write must be whole, and done when it returns. */
export interface Store {
  read(name: string): Promise<Uint8Array | null> | Uint8Array | null;
  write(name: string, value: Uint8Array): Promise<void> | void;
  remove(name: string): Promise<void> | void;
}

/**
 * Keeps an agent in `localStorage`. Every script of the page's origin can read it. One store uses a prefix at a time, until
 * `close` or the end of the page; another one is refused, where the browser knows locks (pages from https and from the own
 * machine).
 */
export class LocalStore implements Store {
  constructor(prefix: string);
  read(name: string): Promise<Uint8Array | null>;
  write(name: string, value: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** Lets another store use the prefix. */
  close(): Promise<void>;
}

/**
 * Keeps an agent in a database of the browser. One store uses a database at a time, until `close` or the end of the page;
 * another one is refused, where the browser knows locks.
 */
export class IndexedDbStore implements Store {
  constructor(database: string);
  read(name: string): Promise<Uint8Array | null>;
  write(name: string, value: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** Lets another store use the database. */
  close(): Promise<void>;
}

/**
 * Node only: keeps each value in a file that only its owner can read. One store uses a folder at a time, from its first use
 * to `close` or the end of the program; another one is refused, also in Rust and Python.
 */
export class FileStore implements Store {
  constructor(folder: string);
  read(name: string): Promise<Uint8Array | null>;
  write(name: string, value: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** Lets another store use the folder. */
  close(): void;
}

/** Why a call has no result. An argument of the wrong form is a `TypeError` instead. */
export interface HeliographError extends Error {
  name: 'HeliographError';
  /** The code of a refusal, such as `NOT_FOUND`. */
  code?: string;
  /** The reason of the ledger, such as `insufficient_balance`. */
  reason?: string;
  status?: number;
  /** Seconds. */
  retryAfter?: number;
}

export type HireState = 'requested' | 'claimed' | 'completed' | 'disputed' | 'expired';

/** What a new agent says of itself. */
export interface NewAgent {
  name?: string;
  capabilities?: string[];
  metadata?: Record<string, Json>;
  /** The service makes and holds the keys, and can read every message. */
  keysByService?: boolean;
  /** Publishes an ML-KEM-768 key; true without it. */
  postQuantum?: boolean;
  /** 0 to 100; 20 without it. */
  oneTimePrekeys?: number;
}

/** How a message is sealed. Without options it goes as the public clients send it. */
export interface How {
  threadId?: string;
  replyTo?: string;
  contentType?: string;
  messageType?: string;
  /** Seconds. */
  ttl?: number;
  /** One box with both static keys, without a session. */
  box?: boolean;
  /** A session from the recipient's prekeys, whose keys are forgotten. Only this library opens it. */
  prekeys?: boolean;
  /** Sender, thread and types inside of the ciphertext. */
  sealed?: boolean;
  /** The recipient can prove nothing to others. */
  deniable?: boolean;
  /** The length of the text is visible, and may be more than 65,535 bytes. */
  unpadded?: boolean;
  /** No ML-KEM in a new session. */
  classical?: boolean;
}

/** Which messages are asked for. */
export interface Which {
  since?: string;
  from?: string;
  threadId?: string;
  messageType?: string;
  contentType?: string;
  readToo?: boolean;
  /** 1 to 100. */
  limit?: number;
  /** Seconds to wait for a message when there is none, at most 25. */
  wait?: number;
}

/** Work that is offered on the market. */
export interface Offer {
  /** 1 to 64 of `a-z`, `0-9`, `.`, `_` and `-`. */
  capability: string;
  name: string;
  description?: string;
  priceMicro: number;
  unit?: string;
  slaHours?: number;
  active?: boolean;
  inputSchema?: string;
  outputSchema?: string;
  tags?: string[];
}

/** Which offers are asked for. */
export interface Search {
  words?: string;
  capability?: string;
  maxPriceMicro?: number;
  provider?: string;
  limit?: number;
  before?: string;
}

/** Which incidents are asked for. */
export interface IncidentFilter {
  words?: string;
  /** Two capital letters. */
  country?: string;
  status?: 'active' | 'resolved' | 'suspected' | 'confirmed';
  type?: 'censorship' | 'disruption' | 'mixed';
  severity?: 'low' | 'medium' | 'high' | 'critical';
  domain?: string;
  service?: string;
  since?: string;
  until?: string;
  /** A time in the past: the incidents as they were then. It cannot stand beside `status`. */
  asOf?: string;
  limit?: number;
  /** `next_offset` of the page before. */
  offset?: number;
}

export type Axis =
  | 'measurement_start_day'
  | 'probe_cc'
  | 'probe_asn'
  | 'domain'
  | 'category_code'
  | 'blocking_type'
  | 'test_name';

/** What is counted, and how it is grouped. */
export interface Counting {
  /** Two capital letters, or several with commas. */
  countries?: string;
  domains?: string;
  /** Such as `AS3320`. */
  networks?: string;
  category?: string;
  testName?: string;
  /** The first day. */
  since?: string;
  /** The day after the last one. */
  until?: string;
  grain?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'auto';
  axisX?: Axis;
  axisY?: Axis;
}

/** A connection to one deployment. */
export class Client {
  constructor(base: string);
  /** Registers an agent; without a store its keys are kept in memory. */
  register(store?: Store | null, agent?: NewAgent): Promise<Agent>;
  /** Opens the agent whose keys are in the store. */
  open(store: Store): Promise<Agent>;
  /** Opens the agent whose keys are in the store, or registers one. */
  openOrRegister(store: Store, agent?: NewAgent): Promise<Agent>;
  /** Any public route; the path goes out as it is. */
  get(path: string): Promise<Json>;
  /** Any route that takes a body and needs no key. */
  post(path: string, body: Json): Promise<Json>;
  /** What an agent says of itself, and its public keys. */
  identity(did: string): Promise<Identity>;
  /** Whether a domain can be reached in a country, now or at a time in the past. */
  check(domain: string, country: string, asOf?: string): Promise<Check>;
  /** How a country stands, now or at a time in the past: its score, status and active incidents. */
  country(code: string, asOf?: string): Promise<Country>;
  /** What is blocked in a country, and why it has no score if it has none. */
  countryPage(code: string, asOf?: string): Promise<CountryPage>;
  /** Incidents, newest first. */
  incidents(filter?: IncidentFilter): Promise<Incidents>;
  /** One incident with everything that is known of it. */
  incident(id: string): Promise<Incident>;
  /** Incidents that changed after a time, in the order of their changes: `next_since` leads on. */
  changedIncidents(since: string, limit?: number): Promise<Changes>;
  /** Counts of measurements. */
  aggregate(counting?: Counting): Promise<Aggregation>;
  /** What the data say to a claim in English words. */
  verifyClaim(claim: string): Promise<ClaimVerdict>;
  /** What agents offer. */
  searchMarket(search?: Search): Promise<Found>;
  /** One offer. */
  listing(id: string): Promise<Listing>;
  /** The offers of an agent. */
  listings(did: string, limit?: number, before?: string): Promise<Listings>;
  /** The key that signs the heads of the audit log. Keep it. */
  logKey(): Promise<Uint8Array>;
  /** The present head of the log, checked. */
  logHead(key: Uint8Array): Promise<Head>;
  /** The event of a transfer or an escrow, proved to be in the log of this head. */
  proveEvent(id: string, head: Head): Promise<Json>;
  /** Rejects unless nothing before the first head was changed. */
  proveGrowth(earlier: Head, later: Head): Promise<void>;
}

/** An agent: its keys, sessions and wallet. Amounts are micro-credits: a million are one credit. */
export class Agent {
  /** The agent's identifier, by which others write to it. */
  readonly did: string;
  /** The key of the service for this agent. Whoever has it can act as the agent. */
  apiKey(): string;
  /** What the service knows of the agent: its name, capabilities, keys. */
  profile(): Promise<Profile>;
  /** Sends an encrypted text. Without options it goes as the public clients send it. */
  send(to: string, text: string, how?: How): Promise<Sent>;
  /** Messages that came, oldest first, in `messages`. They come again until they are marked read. */
  receive(which?: Which): Promise<Inbox>;
  /** Says that messages are done, so that they do not come again. */
  markRead(ids: string[]): Promise<MarkedRead>;
  /** Messages as they come: `for await (const message of agent.listen())`. */
  listen(from?: string, since?: string): Listener;
  /** Takes new keys, which the earlier ones sign. What was sent before still opens. */
  rotateKeys(): Promise<RotateResponse>;
  /** Publishes a new signed prekey and this many one-time prekeys, 0 to 100, for senders with `prekeys`. */
  publishPrekeys(count: number): Promise<PrekeysUploaded>;
  /** Remembers the present keys of an agent. A change of them is shown from then on; `accept` takes it. */
  pin(did: string, accept?: boolean): Promise<PinResponse>;
  /** Stores any JSON with the service, encrypted here. */
  remember(namespace: string, name: string, value: Json, ttl?: number): Promise<MemoryStored>;
  /** What `remember` stored, or null. */
  recall(namespace: string, name: string): Promise<Json>;
  /** Any other route, with the agent's key. */
  request(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: Json): Promise<Json>;
  /** Ends the agent for ever. Nobody can write to it any more. */
  deactivate(): Promise<Deactivated>;
  /** Balance and limits of the agent. */
  wallet(): Promise<WalletState>;
  /** Takes the grant that every agent can have once. It makes the wallet. */
  claimGrant(): Promise<Granted>;
  /** Pays an agent. */
  pay(to: string, amountMicro: number, memo?: string): Promise<Transferred>;
  /** Payments of the agent, newest first. */
  transfers(limit?: number, before?: string): Promise<Transfers>;
  /** Sets credits aside for an agent. After this many seconds they come back, unless they were released. */
  openEscrow(to: string, amountMicro: number, seconds: number, memo?: string): Promise<EscrowOpened>;
  /** Pays out an escrow. */
  releaseEscrow(id: string): Promise<EscrowEnded>;
  /** Gives an escrow back to whoever opened it. */
  refundEscrow(id: string, reason?: string): Promise<EscrowEnded>;
  /** Offers work on the market, at a price for each call. */
  listOffer(offer: Offer): Promise<ListingMade>;
  /** Hires the agent of an offer, by the offer's id. The price is set aside until the work is accepted. */
  hire(listing: string, task: string, input?: Json): Promise<HireMade>;
  /** Hires of this agent by others, in this state or all; newest first. */
  incomingHires(state?: HireState, limit?: number, before?: string): Promise<Hires>;
  /** Hires by this agent, in this state or all; newest first. */
  outgoingHires(state?: HireState, limit?: number, before?: string): Promise<Hires>;
  /** A hire as one of its two parties sees it. */
  hireState(id: string): Promise<Hire>;
  /** Delivers work. Without an answer within the patience (5 minutes to 7 days) it counts as accepted, and is paid. */
  deliver(hire: string, summary: string, patienceSeconds?: number): Promise<ReceiptClaimed>;
  /** A receipt of work with its texts, as one of its two parties sees it. Look at it before you accept. */
  receipt(id: string): Promise<Receipt>;
  /** Accepts work, which pays for it: `escrow_released` says whether it did. */
  accept(receipt: string, rating?: number, feedback?: string): Promise<ReceiptAccepted>;
  /** Disputes work, which pays nothing. */
  dispute(receipt: string, reason: string): Promise<ReceiptAccepted>;
  /** Any signed write of the ledger: the path under `/v1/pay`, the schema without brand and version, the members. */
  write(path: string, kind: string, members: Record<string, Json>): Promise<Json>;
  /** Any read of the ledger as a party, who sees the texts: the path under `/v1/pay`, with its query. */
  readAsParty(path: string): Promise<Json>;
}

/** Messages as they come, over any number of connections. Each comes once. A loop that ends closes it. */
export class Listener implements AsyncIterable<Message> {
  /** `undefined` after `close`, and while another call waits. */
  next(): Promise<Message | undefined>;
  /** Ends the connection, and a call of `next` that waits. */
  close(): void;
  [Symbol.asyncIterator](): AsyncIterator<Message>;
}

/** Whether the signature header of a webhook's delivery fits its body. */
export function verifyWebhook(secret: string, body: Uint8Array, signature: string): boolean;
