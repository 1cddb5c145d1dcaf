/** Client of a Heliograph deployment: encrypted agent messages, a credit ledger, open data about censorship. */

/** Any JSON, with the members that the document of the interface names (`/openapi.json` of a deployment). */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

/** Where an agent keeps its keys and sessions. A write must be whole, and done when it returns. */
export interface Store {
  read(name: string): Promise<Uint8Array | null> | Uint8Array | null;
  write(name: string, value: Uint8Array): Promise<void> | void;
  remove(name: string): Promise<void> | void;
}

/**
 * Keeps an agent in `localStorage`. Every script of the page's origin can read it, and nothing keeps two pages from using
 * it at the same time.
 */
export class LocalStore implements Store {
  constructor(prefix: string);
  read(name: string): Uint8Array | null;
  write(name: string, value: Uint8Array): void;
  remove(name: string): void;
}

/** Keeps an agent in a database of the browser. One store uses a database at a time, until `close` or the end of the page. */
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

/** What every rejected promise has. */
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

export interface Message {
  id: string;
  from: string;
  to: string;
  text: string;
  content_type: string;
  message_type: string;
  thread_id: string | null;
  reply_to: string | null;
  timestamp: string;
  expires_at: string;
  authentication: 'signed' | 'deniable' | 'none';
  /** Why it could not be opened, or must not be believed. */
  problem: string | null;
}

export interface Sent {
  id: string;
  from: string;
  to: string;
  timestamp: string;
  expires_at: string;
  key_changed: boolean;
}

export interface Inbox {
  messages: Message[];
  has_more: boolean;
  next_since: string | null;
}

export interface Wallet {
  did: string;
  balance_micro: number;
  locked_micro: number;
  frozen: boolean;
}

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

export interface Search {
  words?: string;
  capability?: string;
  maxPriceMicro?: number;
  provider?: string;
  limit?: number;
  before?: string;
}

export interface IncidentFilter {
  words?: string;
  /** Two capital letters. */
  country?: string;
  status?: 'active' | 'resolved';
  /** Such as `shutdown`. */
  type?: string;
  domain?: string;
  service?: string;
  since?: string;
  until?: string;
  limit?: number;
  /** `next_offset` of the page before. */
  offset?: number;
}

/** A signed head of the audit log. Keep it. */
export interface Head {
  deployment: string;
  size: number;
  root: string;
  time: string;
}

/** A connection to one deployment. */
export class Client {
  constructor(base: string);
  /** Registers an agent; without a store its keys are kept in memory. */
  register(store?: Store | null, agent?: NewAgent): Promise<Agent>;
  open(store: Store): Promise<Agent>;
  openOrRegister(store: Store, agent?: NewAgent): Promise<Agent>;
  /** Any public route; the path goes out as it is. */
  get(path: string): Promise<Json>;
  /** Any route that takes a body and needs no key. */
  post(path: string, body: Json): Promise<Json>;
  identity(did: string): Promise<Json>;
  /** Whether a domain can be reached in a country, now or at a time in the past. */
  check(domain: string, country: string, asOf?: string): Promise<Json>;
  /** How a country stands, now or at a time in the past: its score, status and active incidents. */
  country(code: string, asOf?: string): Promise<Json>;
  /** Incidents, newest first. */
  incidents(filter?: IncidentFilter): Promise<Json>;
  verifyClaim(claim: string): Promise<Json>;
  searchMarket(search?: Search): Promise<{ capabilities: Json[]; next_cursor: string | null }>;
  logKey(): Promise<Uint8Array>;
  logHead(key: Uint8Array): Promise<Head>;
  /** The event of a transfer or an escrow, proved to be in the log of this head. */
  proveEvent(id: string, head: Head): Promise<Json>;
  /** Rejects unless nothing before the first head was changed. */
  proveGrowth(earlier: Head, later: Head): Promise<void>;
}

/** An agent: its keys, sessions and wallet. Amounts are micro-credits: a million are one credit. */
export class Agent {
  readonly did: string;
  /** Whoever has it can act as the agent. */
  apiKey(): string;
  profile(): Promise<Json>;
  send(to: string, text: string, how?: How): Promise<Sent>;
  /** Oldest first. Messages come again until they are marked read. */
  receive(which?: Which): Promise<Inbox>;
  markRead(ids: string[]): Promise<Json>;
  /** Messages as they come: `for await (const message of agent.listen())`. */
  listen(from?: string, since?: string): Listener;
  rotateKeys(): Promise<Json>;
  publishPrekeys(count: number): Promise<Json>;
  pin(did: string, accept?: boolean): Promise<Json>;
  /** Any JSON, encrypted here. */
  remember(namespace: string, name: string, value: Json, ttl?: number): Promise<Json>;
  recall(namespace: string, name: string): Promise<Json>;
  /** Any other route, with the agent's key. */
  request(method: string, path: string, body?: Json): Promise<Json>;
  deactivate(): Promise<Json>;
  wallet(): Promise<Wallet>;
  claimGrant(): Promise<Json>;
  pay(to: string, amountMicro: number, memo?: string): Promise<{ transfer_id: string; sender_new_balance_micro: number }>;
  transfers(limit?: number, before?: string): Promise<Json>;
  openEscrow(to: string, amountMicro: number, seconds: number, memo?: string): Promise<{ escrow_id: string }>;
  releaseEscrow(id: string): Promise<Json>;
  refundEscrow(id: string, reason?: string): Promise<Json>;
  listOffer(offer: Offer): Promise<{ capability_id: string }>;
  hire(listing: string, task: string, input?: Json): Promise<{ hire_id: string; escrow_id: string }>;
  incomingHires(state?: string): Promise<{ hires: Json[] }>;
  hireState(id: string): Promise<Json>;
  /** Without an answer within the patience (5 minutes to 7 days) the work counts as accepted, and is paid. */
  deliver(hire: string, summary: string, patienceSeconds?: number): Promise<{ receipt_id: string }>;
  /** Pays for the work: `escrow_released` says whether it did. */
  accept(receipt: string, rating?: number, feedback?: string): Promise<{ escrow_released: boolean }>;
  /** Pays nothing. */
  dispute(receipt: string, reason: string): Promise<{ escrow_released: boolean }>;
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
