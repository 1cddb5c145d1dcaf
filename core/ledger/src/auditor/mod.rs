//! Checks a log of events from outside, from nothing but the public form of its events (decision ledger-log).
//!
//! An auditor takes the events in order, and says what is wrong with the first bad one: its place, its time, its
//! signature, or its changes of balances. If the root at the end is not that of the signed head, an event was forged,
//! dropped or moved.
//!
//! | Module | What |
//! |---|---|
//! | `rights` | whether an event was allowed |

mod rights;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rights::Work;

use crate::Timestamp;
use crate::admin::keyid;
use crate::book::did_of;
use crate::form::{HASH, HASHED, Hidden, SIGNATURE, text_hash};
use crate::json::{self, Json, Members};
use crate::log::What;
use crate::merkle::{Frontier, Hash, leaf_hash};
use crate::rows::Micro;
use crypto::encoding::{decode_base64, decode_base64_array, decode_hex_array, did, did_bytes, encode_hex};
use crypto::hash::sha256;
use crypto::signing;

/// The bytes that the signature of a head covers.
pub fn head_bytes(schema: &str, deployment: &str, size: u64, root: &str, time: &str) -> Vec<u8> {
    let text = |text: &str| Json::Text(text.to_owned());
    let members = Members::from([
        ("schema".to_owned(), text(schema)),
        ("deployment".to_owned(), text(deployment)),
        ("size".to_owned(), Json::Integer(i64::try_from(size).unwrap_or(i64::MAX))),
        ("root".to_owned(), text(root)),
        ("time".to_owned(), text(time)),
    ]);
    Json::Object(members).canonical().unwrap_or_default()
}

/// What is wrong with an event.
pub type Flaw = String;
type Checked<T = ()> = Result<T, Flaw>;

fn check(holds: bool, flaw: impl FnOnce() -> Flaw) -> Checked {
    if holds { Ok(()) } else { Err(flaw()) }
}

/// Balance and locked amount, in micro-credits.
type Money = (Micro, Micro);
/// Changes of balance and locked amount, by DID.
type Moves<'a> = BTreeMap<&'a str, (i64, i64)>;

/// An escrow while it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenEscrow {
    from: String,
    to: String,
    amount: i64,
    deadline: Timestamp,
    works: Vec<Work>,
}

/// The state after the events so far.
#[derive(Debug, Default)]
pub struct Auditor {
    brand: String,
    frontier: Frontier,
    last: Option<Timestamp>,
    wallets: BTreeMap<String, Money>,
    escrows: BTreeMap<String, OpenEscrow>,
    admin_keys: BTreeMap<String, (String, bool)>,
    supply: Micro,
    /// The used nonces: of each, eight bytes of a hash of its kind, its signer and itself.
    used: HashSet<u64>,
    /// Names that had a grant of the faucet.
    claimants: BTreeSet<String>,
    /// Number of events that came later than the end of their envelope and the skew of clocks.
    pub late: u64,
    /// Signatures are not checked.
    unsigned: bool,
    /// Number of signatures that verified.
    pub verified: u64,
    /// Number of signatures that nobody can check without the hidden texts.
    pub hidden: u64,
    /// Number of agents' signatures by another key than the one that derives the DID.
    pub rotated: u64,
}

/// An event's members, by name.
struct Fields<'a>(&'a Members);

impl<'a> Fields<'a> {
    fn text(&self, name: &str) -> Checked<&'a str> {
        match self.0.get(name) {
            Some(Json::Text(text)) => Ok(text),
            _ => Err(format!("it has no `{name}`")),
        }
    }

    fn number(&self, name: &str) -> Checked<i64> {
        match self.0.get(name) {
            Some(Json::Integer(number)) => Ok(*number),
            _ => Err(format!("it has no `{name}`")),
        }
    }

    fn object(&self, name: &str) -> Checked<Fields<'a>> {
        match self.0.get(name) {
            Some(Json::Object(members)) => Ok(Fields(members)),
            _ => Err(format!("it has no `{name}`")),
        }
    }

    fn list(&self, name: &str) -> Checked<Vec<Fields<'a>>> {
        let Some(Json::List(items)) = self.0.get(name) else { return Err(format!("it has no `{name}`")) };
        let item = |item: &'a Json| match item {
            Json::Object(members) => Ok(Fields(members)),
            _ => Err(format!("`{name}` holds an item that is not an object")),
        };
        items.iter().map(item).collect()
    }
}

const ALL: [What; 20] = [
    What::Transfer,
    What::TransferFailed,
    What::Batch,
    What::Faucet,
    What::Grant,
    What::EscrowOpen,
    What::EscrowRelease,
    What::EscrowRefund,
    What::EscrowExpire,
    What::Hire,
    What::Freeze,
    What::Cap,
    What::FreezeAll,
    What::AdminKey,
    What::Wallet,
    What::WalletEnd,
    What::BatchFailed,
    What::Claim,
    What::Accept,
    What::Dispute,
];

impl Auditor {
    pub fn new(brand: &str) -> Auditor {
        Auditor { brand: brand.to_owned(), ..Auditor::default() }
    }

    /// An auditor for logs of tests that sign nothing.
    #[cfg(any(test, feature = "conformance"))]
    pub fn without_signatures(brand: &str) -> Auditor {
        Auditor { unsigned: true, ..Auditor::new(brand) }
    }

    /// Number of events taken.
    pub fn size(&self) -> u64 {
        self.frontier.size()
    }

    pub fn root(&self) -> Hash {
        self.frontier.root()
    }

    /// All credit that was ever granted, by operators and the faucet.
    pub fn supply(&self) -> Micro {
        self.supply
    }

    /// Balance and locked amount of every wallet, by DID.
    pub fn wallets(&self) -> &BTreeMap<String, Money> {
        &self.wallets
    }

    /// Takes the next event: its canonical form, and those of its hidden texts that are known.
    pub fn take(&mut self, form: &[u8], texts: &[Hidden]) -> Checked {
        let value = json::parse(form, json::MAX_DEPTH + 2).ok_or("it is not JSON")?;
        check(value.canonical().as_deref() == Some(form), || "it is not in its canonical form".to_owned())?;
        let Json::Object(members) = &value else { return Err("it is not a JSON object".to_owned()) };
        let event = Fields(members);
        let (seq, size) = (event.number("seq")?, self.size());
        check(u64::try_from(seq) == Ok(size), || format!("event {seq} stands in its place"))?;
        let at = Timestamp::parse(event.text("time")?).ok_or("its `time` is not a time")?;
        check(self.last.is_none_or(|last| last < at), || "it is not later than the one before it".to_owned())?;
        let word = event.text("kind")?;
        let what = ALL
            .into_iter()
            .find(|what| what.as_str() == word)
            .ok_or_else(|| format!("its kind {word:?} is unknown: a newer server needs a newer program"))?;
        let signed = event.0.contains_key("signed").then(|| event.object("signed")).transpose()?;
        let asked = signed.as_ref().map(|signed| signed.object("form")).transpose()?;
        let moves = self.apply(what, &event)?;
        self.entitle(what, &event, asked.as_ref(), at)?;
        self.explain(what, &event, asked.as_ref(), at, &moves)?;
        self.authorise(what, &event, signed.as_ref(), texts)?;
        self.last = Some(at);
        self.frontier.push(leaf_hash(form));
        Ok(())
    }

    /// Applies the changes of wallets that the event states, and returns the amounts that it moved.
    fn apply<'a>(&mut self, what: What, event: &Fields<'a>) -> Checked<Moves<'a>> {
        let mut moves = Moves::new();
        for change in event.list("changes")? {
            let did = change.text("did")?;
            let known = self.wallets.get(did).copied();
            let created = change.0.get("created") == Some(&Json::Bool(true));
            check(created == known.is_none(), || format!("it states wrongly whether {did} had a wallet"))?;
            let after = |before: Micro, by: &str, after: &str| {
                let (by, stated) = (change.number(by)?, change.number(after)?);
                let sum = i64::try_from(before).ok().and_then(|before| before.checked_add(by));
                check(stated >= 0 && sum == Some(stated), || {
                    format!("{did} had {before} micro-credits, and {by} more do not make {stated}")
                })?;
                Ok::<_, Flaw>((by, Micro::try_from(stated).unwrap_or_default()))
            };
            let (balance, locked) = known.unwrap_or_default();
            let (by, balance) = after(balance, "balance_micro", "balance_after_micro")?;
            let (locked_by, locked) = after(locked, "locked_micro", "locked_after_micro")?;
            if (by, locked_by) != (0, 0) {
                check(moves.insert(did, (by, locked_by)).is_none(), || format!("it changes {did} twice"))?;
            }
            if what == What::WalletEnd {
                self.wallets.remove(did);
            } else {
                self.wallets.insert(did.to_owned(), (balance, locked));
            }
        }
        Ok(moves)
    }

    /// Compares the moved amounts with the signed ones, or with the escrow that ended.
    fn explain<'a>(
        &mut self,
        what: What,
        event: &Fields<'a>,
        form: Option<&Fields<'a>>,
        at: Timestamp,
        moves: &Moves<'a>,
    ) -> Checked {
        let form = || form.ok_or_else(|| "nobody signed for it".to_owned());
        let mut expected: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        let mut add = |did: &str, balance: i64, locked: i64| {
            let entry = expected.entry(did.to_owned()).or_default();
            *entry = (entry.0.saturating_add(balance), entry.1.saturating_add(locked));
        };
        match what {
            What::Transfer => {
                let (form, amount) = (form()?, form()?.number("amount_micro")?);
                add(form.text("from_did")?, -amount, 0);
                add(form.text("to_did")?, amount, 0);
            }
            What::Batch => {
                for item in form()?.list("items")? {
                    let amount = item.number("amount_micro")?;
                    check(amount > 0, || "it pays an amount that is not above 0".to_owned())?;
                    add(form()?.text("from_did")?, -amount, 0);
                    add(item.text("to_did")?, amount, 0);
                }
            }
            What::Faucet => self.granted(&mut add, form()?.text("did")?, crate::pay::GRANT)?,
            What::Grant => {
                let amount = Micro::try_from(form()?.number("amount_micro")?).map_err(|_| "it grants less than 0")?;
                self.granted(&mut add, form()?.text("did")?, amount)?;
            }
            What::EscrowOpen | What::Hire => {
                let open = OpenEscrow::read(what, form()?, at)?;
                add(&open.from, -open.amount, open.amount);
                let known = self.escrows.insert(event.text("id")?.to_owned(), open);
                check(known.is_none(), || "its escrow was opened before".to_owned())?;
            }
            What::EscrowRelease | What::EscrowRefund | What::EscrowExpire => {
                let escrow = self.escrows.remove(event.text("id")?).ok_or("no such escrow is open")?;
                add(&escrow.from, 0, -escrow.amount);
                add(if what == What::EscrowRelease { &escrow.to } else { &escrow.from }, escrow.amount, 0);
            }
            _ => {}
        }
        let found: BTreeMap<String, (i64, i64)> = moves.iter().map(|(did, by)| ((*did).to_owned(), *by)).collect();
        check(found == expected, || format!("it moved {} where {} was asked for", moved(&found), moved(&expected)))
    }

    fn granted(&mut self, add: &mut impl FnMut(&str, i64, i64), did: &str, amount: Micro) -> Checked {
        add(did, i64::try_from(amount).unwrap_or(i64::MAX), 0);
        self.supply = self.supply.checked_add(amount).ok_or("there is more credit than can be counted")?;
        Ok(())
    }

    /// Checks the signature, and that the signer may do this.
    fn authorise(&mut self, what: What, event: &Fields<'_>, signed: Option<&Fields<'_>>, texts: &[Hidden]) -> Checked {
        let actor = event.text("actor")?;
        if what == What::AdminKey {
            let details = event.object("details")?;
            let key = (details.text("public_key")?.to_owned(), details.text("active")? == "true");
            self.admin_keys.insert(details.text("keyid")?.to_owned(), key);
            return check(actor == "operator", || "an admin key comes from the operator alone".to_owned());
        }
        let Some(signed) = signed else {
            let by_itself = matches!(what, What::EscrowExpire | What::Freeze | What::Wallet | What::WalletEnd);
            // The signed bytes of a refused batch are not kept, and it moves nothing.
            let needs_none = what == What::BatchFailed || (by_itself && actor.starts_with("system:"));
            return check(needs_none, || "nobody signed for it".to_owned());
        };
        let form = signed.object("form")?;
        let key: [u8; 32] = decode_base64_array("key", signed.text("key")?).map_err(|_| "its `key` is not a key")?;
        match actor.strip_prefix("admin:") {
            Some(id) => {
                let known = self.admin_keys.get(id).is_some_and(|(public, active)| {
                    *active && decode_base64_array("key", public) == Ok(key) && keyid(&key) == id
                });
                check(known, || format!("{id} was not an active admin key then"))?;
            }
            None => {
                let signer = signer(&form)?;
                // For an escrow that a receipt or a timeout ended, the signer is a party, and the actor names the
                // receipt.
                let word = ["receipt:", "system:timeout:"].iter().any(|word| actor.starts_with(word));
                check(word || actor == signer, || format!("its actor is {actor}, but {signer} signed"))?;
                self.rotated += u64::from(did(&self.brand, &did_bytes(&key)) != signer);
            }
        }
        if self.unsigned { Ok(()) } else { self.verify(&key, signed, texts) }
    }

    fn verify(&mut self, key: &[u8; 32], signed: &Fields<'_>, texts: &[Hidden]) -> Checked {
        let Some(form) = signed.0.get("form") else { return Err("nothing was signed".to_owned()) };
        let beside = |name: &str, path: &str| match signed.0.get(name).map(|value| filled(path, value, texts)) {
            Some(Ok(Some(Json::Text(text)))) => Ok(Some(text)),
            Some(Ok(None)) => Ok(None),
            Some(Err(flaw)) => Err(flaw),
            _ => Err(format!("it has no `{name}`")),
        };
        let known = (filled("", form, texts)?, beside("hash", HASH)?, beside("signature", SIGNATURE)?);
        let (Some(form), Some(hash), Some(signature)) = known else {
            self.hidden += 1;
            return Ok(());
        };
        let canonical = form.canonical().ok_or("the signed text has no canonical form")?;
        check(encode_hex(&sha256(&canonical)) == hash, || "its `hash` is not that of the signed text".to_owned())?;
        let signature = decode_base64("signature", &signature).map_err(|_| "its `signature` is not base64")?;
        check(signing::verify(key, &canonical, &signature), || "its signature does not verify".to_owned())?;
        self.verified += 1;
        Ok(())
    }

    /// Checks the whole: all credit came from grants, and all locked money is in open escrows.
    pub fn balance(&self) -> Checked {
        let sum: u128 = self.wallets.values().map(|(balance, locked)| u128::from(*balance) + u128::from(*locked)).sum();
        check(sum == u128::from(self.supply), || format!("wallets hold {sum}, {} was granted", self.supply))?;
        let mut locked: BTreeMap<&str, i64> = BTreeMap::new();
        for open in self.escrows.values() {
            *locked.entry(&open.from).or_default() += open.amount;
        }
        for (did, (_, stated)) in &self.wallets {
            let open = locked.get(did.as_str()).copied().unwrap_or_default();
            check(i64::try_from(*stated) == Ok(open), || format!("{did} has {stated} locked, {open} in open escrows"))?;
        }
        Ok(())
    }

    /// The DID of a name of this ledger.
    pub fn did_of(&self, name: &str) -> String {
        did_of(&self.brand, name)
    }
}

/// The moved amounts in words.
fn moved(by: &BTreeMap<String, (i64, i64)>) -> String {
    let one = |(did, (balance, locked)): (&String, &(i64, i64))| format!("{balance} of {did} ({locked} locked)");
    if by.is_empty() { "nothing".to_owned() } else { by.iter().map(one).collect::<Vec<_>>().join(", ") }
}

/// The DID that must have signed an envelope.
fn signer<'a>(form: &Fields<'a>) -> Checked<&'a str> {
    let kind = form.text("schema")?.split_once('-').map_or("", |(_, kind)| kind);
    form.text(match kind {
        "credit-transfer/v1" | "batch-transfer/v1" | "escrow-open/v1" => "from_did",
        "work-claim/v1" => "to_did",
        "hire-request/v1" => "requester_did",
        "pay-faucet/v1" => "did",
        _ if form.0.contains_key("actor_did") => "actor_did",
        _ => "signer_did",
    })
}

/// The signed value with its hidden texts put back; `None` when one of them is not known.
fn filled(path: &str, value: &Json, texts: &[Hidden]) -> Checked<Option<Json>> {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
    Ok(Some(match value {
        Json::Object(members) if members.len() == 1 && members.contains_key(HASHED) => {
            let Some(known) = texts.iter().find(|text| text.path == path) else { return Ok(None) };
            let stated = Fields(members).text(HASHED)?;
            let stated: Hash = decode_hex_array("hash", stated).map_err(|_| "the hash of a text is malformed")?;
            check(text_hash(&known.salt, &known.text) == stated, || format!("its `{path}` is not the one in the log"))?;
            Json::Text(known.text.clone())
        }
        Json::Object(members) => {
            let mut all = Members::new();
            for (name, value) in members {
                let Some(value) = filled(&below(name), value, texts)? else { return Ok(None) };
                all.insert(name.clone(), value);
            }
            Json::Object(all)
        }
        Json::List(items) => {
            let mut all = Vec::new();
            for (place, item) in items.iter().enumerate() {
                let Some(item) = filled(&below(&place.to_string()), item, texts)? else { return Ok(None) };
                all.push(item);
            }
            Json::List(all)
        }
        value => value.clone(),
    }))
}
