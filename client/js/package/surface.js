// What all platforms have in common.
import { Agent, Client, Listener, sha256Hex, verifyWebhook } from './heliograph.js';

// `for await (const message of agent.listen())`
Listener.prototype[Symbol.asyncIterator] = async function* () {
  try {
    for (let message; (message = await this.next()) !== undefined; ) yield message;
  } finally {
    // A loop that was left early must not keep the connection.
    this.close();
  }
};

const nonce = () => crypto.randomUUID();
// A call that contradicts what is known here fails as one that the module refuses.
const misused = (text) => Object.assign(new Error(text), { name: 'HeliographError' });
// Parameters without a value are left out.
const query = (path, parameters) => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
};

const judge = (agent, id, verdict) => {
  const members = { receipt_id: id, signer_did: agent.did, action_nonce: nonce(), ...verdict };
  return agent.write('receipt/accept', 'work-acceptance', members);
};

// What only names a route. Ids of the service need no escapes in a path.
Object.assign(Client.prototype, {
  identity(did) {
    return this.get(`/v1/agent/identity/${did}`);
  },
  check(domain, country, asOf) {
    return this.get(query('/v1/accessibility/check', { domain, country, as_of: asOf }));
  },
  country(code, asOf) {
    return this.get(query(`/v1/censorship-index/${encodeURIComponent(code)}`, { as_of: asOf }));
  },
  countryPage(code, asOf) {
    return this.get(query(`/data/country/${encodeURIComponent(code)}`, { as_of: asOf }));
  },
  incidents({ words, asOf, ...rest } = {}) {
    return this.get(query('/data/incidents', { q: words, as_of: asOf, ...rest }));
  },
  incident(id) {
    return this.get(`/data/incidents/${encodeURIComponent(id)}`);
  },
  changedIncidents(since, limit = 200) {
    return this.get(query('/data/incidents/delta', { since, limit }));
  },
  aggregate({ countries, domains, networks, category, testName, since, until, grain, axisX, axisY } = {}) {
    const parameters = {
      probe_cc: countries, domain: domains, probe_asn: networks, category_code: category, test_name: testName, since, until,
      time_grain: grain, axis_x: axisX, axis_y: axisY,
    };
    return this.get(query('/api/v1/aggregation', parameters));
  },
  verifyClaim(claim) {
    return this.post('/verify-claim', { claim });
  },
  searchMarket({ words, capability, maxPriceMicro, provider, limit, before } = {}) {
    const parameters = { q: words, capability, max_price_micro: maxPriceMicro, provider_did: provider, limit, before };
    return this.get(query('/v1/pay/capability/search', parameters));
  },
  async listing(id) {
    return (await this.get(`/v1/pay/capability/${encodeURIComponent(id)}`)).capability;
  },
  listings(did, limit, before) {
    return this.get(query(`/v1/pay/capability/did/${did}`, { limit, before }));
  },
});

Object.assign(Agent.prototype, {
  profile() {
    return this.request('GET', '/v1/agent/profile');
  },
  pin(did, accept = false) {
    return this.request('POST', '/v1/agent/keys/pin', { did, accept });
  },
  deactivate() {
    return this.request('DELETE', '/v1/agent/deactivate');
  },
  wallet() {
    return this.request('GET', `/v1/pay/wallet/${this.did}`);
  },
  claimGrant() {
    return this.write('faucet', 'pay-faucet', { did: this.did, nonce: nonce() });
  },
  pay(to, amountMicro, memo) {
    const members = { from_did: this.did, to_did: to, amount_micro: amountMicro, nonce: nonce(), memo };
    return this.write('transfer', 'credit-transfer', members);
  },
  transfers(limit, before) {
    return this.readAsParty(query(`history/${this.did}`, { limit, before }));
  },
  openEscrow(to, amountMicro, seconds, memo) {
    const deadline = new Date(Date.now() + seconds * 1000).toISOString();
    const members = { from_did: this.did, to_did: to, amount_micro: amountMicro, nonce: nonce(), deadline_at: deadline, memo };
    return this.write('escrow/open', 'escrow-open', members);
  },
  releaseEscrow(id) {
    return this.write('escrow/release', 'escrow-release', { escrow_id: id, signer_did: this.did, action_nonce: nonce() });
  },
  refundEscrow(id, reason) {
    const members = { escrow_id: id, signer_did: this.did, action_nonce: nonce(), reason };
    return this.write('escrow/refund', 'escrow-refund', members);
  },
  listOffer({ capability, name, description = '', priceMicro, unit = 'call', slaHours = 24, active = true, ...rest }) {
    return this.write('capability/list', 'capability-list', {
      provider_did: this.did, capability, name, description, price_per_call_micro: priceMicro, unit,
      sla_deadline_hours: slaHours, active, nonce: nonce(), input_schema: rest.inputSchema,
      output_schema: rest.outputSchema, tags: rest.tags && JSON.stringify(rest.tags),
    });
  },
  async hire(listing, task, input) {
    const { capability: offer } = await this.request('GET', `/v1/pay/capability/${listing}`);
    if (offer.provider_did === this.did) throw misused('an agent cannot hire itself');
    return this.write('hire', 'hire-request', {
      capability_id: offer.id, capability: offer.capability, requester_did: this.did, provider_did: offer.provider_did,
      price_micro: offer.price_per_call_micro, task_id: task, delivery_deadline_hours: offer.sla_deadline_hours,
      nonce: nonce(), input_json: input === undefined ? undefined : JSON.stringify(input),
    });
  },
  incomingHires(state, limit, before) {
    return this.readAsParty(query(`hire/incoming/${this.did}`, { state, limit, before }));
  },
  outgoingHires(state, limit, before) {
    return this.readAsParty(query(`hire/outgoing/${this.did}`, { state, limit, before }));
  },
  async hireState(id) {
    return (await this.readAsParty(`hire/${id}`)).hire;
  },
  async deliver(id, summary, patienceSeconds = 86_400) {
    const hire = await this.hireState(id);
    // The escrow ends at the deadline of the delivery.
    const wanted = new Date(Math.min(Date.now() + patienceSeconds * 1000, Date.parse(hire.delivery_deadline_at)));
    return this.write('receipt/claim', 'work-claim', {
      task_id: hire.task_id, from_did: hire.requester_did, to_did: this.did, work_hash: sha256Hex(summary), summary,
      nonce: nonce(), acceptance_deadline_at: wanted.toISOString(), auto_accept_on_timeout: true, escrow_id: hire.escrow_id,
    });
  },
  async receipt(id) {
    return (await this.readAsParty(`receipt/${id}`)).receipt;
  },
  async accept(id, rating, feedback) {
    const { summary, work_hash: signed } = await this.receipt(id);
    if ((summary ?? null) !== null && (signed ?? null) !== null && sha256Hex(summary) !== signed) {
      throw misused('the summary is not the text whose hash the provider signed; look before accepting');
    }
    return judge(this, id, { action: 'accept', rating, feedback });
  },
  dispute(id, reason) {
    return judge(this, id, { action: 'dispute', dispute_reason: reason });
  },
});

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

// Milliseconds to wait for a page that is just being left, such as this one before it was loaded again.
const LEAVING = 2_000;

// Holds a name that no other page of the origin can hold at the same time; returns what frees it. A browser knows such
// locks in pages from https and from this machine only.
const hold = (lock, place) =>
  new Promise((resolve, reject) => {
    if (!globalThis.navigator?.locks) return resolve(() => {});
    const held = () => new Promise((free) => resolve(free));
    const used = () => reject(new Error(`another page, or another store of this one, uses ${place}`));
    navigator.locks.request(`heliograph:${lock}`, { signal: AbortSignal.timeout(LEAVING) }, held).catch(used);
  });

// The right to use a place of the browser, from the first use of a store to its `close`. One store has it at a time, because
// two that step one session would use a key twice.
class Owner {
  #held;
  constructor(lock, place) {
    this.lock = lock;
    this.place = place;
  }
  own() {
    this.#held ??= hold(this.lock, this.place).catch((error) => {
      // The next use may find it free.
      this.#held = undefined;
      throw error;
    });
    return this.#held;
  }
  async close() {
    const held = this.#held;
    this.#held = Promise.reject(new Error(`the store of ${this.place} is closed`));
    this.#held.catch(() => {});
    (await held?.catch(() => undefined))?.();
  }
}

// Keeps an agent in `localStorage`. Every script of the page's origin can read it.
export class LocalStore {
  #owner;
  constructor(prefix) {
    this.prefix = prefix;
    // `client/src/store/browser.rs` takes the same lock.
    this.#owner = new Owner(`localStorage/${prefix}`, prefix);
  }
  close() {
    return this.#owner.close();
  }
  async read(name) {
    await this.#owner.own();
    const text = localStorage.getItem(`${this.prefix}/${name}`);
    return text === null ? null : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  }
  async write(name, value) {
    await this.#owner.own();
    localStorage.setItem(`${this.prefix}/${name}`, btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join('')));
  }
  async remove(name) {
    await this.#owner.own();
    localStorage.removeItem(`${this.prefix}/${name}`);
  }
}

// Keeps an agent in a database of the browser. A write is on the disk when its promise is kept.
export class IndexedDbStore {
  #owner;
  constructor(database) {
    this.database = database;
    this.#owner = new Owner(database, database);
  }
  async close() {
    await this.#owner.close();
    (await this.open)?.close();
  }
  async #run(mode, action) {
    await this.#owner.own();
    if (!this.open) {
      const request = indexedDB.open(this.database, 1);
      request.onupgradeneeded = () => request.result.createObjectStore('values');
      this.open = done(request);
    }
    const transaction = (await this.open).transaction('values', mode, { durability: 'strict' });
    const ended = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
    const [result] = await Promise.all([done(action(transaction.objectStore('values'))), ended]);
    return result;
  }
  async read(name) {
    return (await this.#run('readonly', (values) => values.get(name))) ?? null;
  }
  write(name, value) {
    return this.#run('readwrite', (values) => values.put(value, name));
  }
  remove(name) {
    return this.#run('readwrite', (values) => values.delete(name));
  }
}

export { Agent, Client, Listener, verifyWebhook };
