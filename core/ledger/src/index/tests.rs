use std::cell::Cell;
use std::collections::BTreeMap;

use super::*;
use engine::actor::host::{self, Space};
use engine::actor::{ActorId, Call, decode};
use engine::kv::{MemoryStore, Pair, Read, Store, decode_row, encode_row};
use engine::settings::Settings;
use engine::testing::Dice;

/// Counts reads.
struct Counting<'a> {
    rows: &'a MemoryStore,
    gets: Cell<usize>,
    scanned: Cell<usize>,
}

impl Read for Counting<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.gets.set(self.gets.get() + 1);
        self.rows.get(key)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        let found = self.rows.scan(range, direction, limit)?;
        self.scanned.set(self.scanned.get() + found.len());
        Ok(found)
    }
}

/// An index, and the same offers in a plain list.
#[derive(Default)]
struct Market {
    rows: MemoryStore,
    offers: BTreeMap<Id, Offer>,
}

const WORDS: [&str; 12] = [
    "translation",
    "Weather",
    "news",
    "Überwachung",
    "probe",
    "relay",
    "SCOUT",
    "market",
    "archive",
    "mirror",
    "日本語",
    "a",
];

fn id(number: u64) -> Id {
    u128::from(number).to_be_bytes()
}

impl Market {
    fn actor() -> ActorId {
        ActorId::new(Kind::Market, ACTOR)
    }

    fn run<O: Operation>(&mut self, operation: &O) {
        let (actor, settings) = (Market::actor(), Settings::default());
        let call = Call::operation(ACTOR, operation).unwrap();
        let now = Timestamp(1_000_000);
        let outcome = host::perform(
            &Space {
                program: &crate::testing::PROGRAM,
                actor: &actor,
                rows: &self.rows,
                now,
                seed: [0; 32],
                settings: &settings,
            },
            &call,
        );
        decode::<O::Reply>(&outcome.reply.unwrap()).unwrap();
        self.rows.apply(outcome.batch).unwrap();
    }

    /// Sends what the ledger sends when a listing changes.
    fn list(&mut self, number: u64, texts: [&str; 3], price: Micro, open: bool) {
        let id = id(number);
        // The ledger sends listings in the order in which they came. A listing that changes keeps its time.
        let listed = self.offers.get(&id).map_or(Timestamp(self.offers.len() as i64), |before| before.listed);
        let offer = Offer { texts: texts.map(fold), price, listed, open };
        if self.offers.get(&id).is_some_and(|before| before.texts != offer.texts) {
            self.run(&Forget { id });
        }
        self.run(&List { id, offer: offer.clone() });
        self.offers.insert(id, offer);
    }

    fn ask(&self, find: &Find) -> (OfferPage, usize, usize) {
        let (actor, settings) = (Market::actor(), Settings::default());
        let counting = Counting { rows: &self.rows, gets: Cell::new(0), scanned: Cell::new(0) };
        let found =
            find.clone().run(&View::new(&crate::testing::PROGRAM, &actor, &counting, Timestamp(0), &settings)).unwrap();
        (found, counting.gets.get(), counting.scanned.get())
    }

    fn expected(&self, find: &Find) -> Vec<Id> {
        let mut all: Vec<_> = self
            .offers
            .iter()
            .filter(|(_, offer)| {
                offer.open
                    && find.slug.as_ref().is_none_or(|slug| *slug == offer.texts[0])
                    && find.max_price.is_none_or(|max| offer.price <= max)
                    && find.text.as_ref().is_none_or(|text| offer.texts.iter().any(|of| of.contains(text.as_str())))
            })
            .map(|(id, offer)| (offer.price, offer.listed, *id))
            .collect();
        all.sort();
        all.into_iter().map(|(.., id)| id).collect()
    }

    /// All pages, one after the other. Each is read within bounds.
    fn pages(&self, find: &Find) -> Vec<Id> {
        let (mut find, mut all) = (find.clone(), Vec::new());
        loop {
            let (found, gets, scanned) = self.ask(&find);
            assert!(found.ids.len() <= find.limit);
            assert!(
                gets <= CANDIDATES + 1_000 && scanned <= CANDIDATES + 300,
                "{gets} and {scanned} rows for {find:?}"
            );
            all.extend(found.ids);
            match found.next {
                None => return all,
                next => {
                    assert!(next > find.after, "pages go forward");
                    find.after = next;
                }
            }
        }
    }
}

fn find(text: Option<&str>, slug: Option<&str>, max_price: Option<Micro>, limit: usize) -> Find {
    Find { text: text.map(fold), slug: slug.map(str::to_owned), max_price, after: None, limit }
}

/// Decision offer-index: while texts, prices and states change, a search finds the same offers as a walk over all of
/// them.
#[test]
fn the_index_finds_what_a_walk_over_all_offers_finds() {
    let (mut market, mut dice) = (Market::default(), Dice(15));
    for round in 0..1_500 {
        let number = dice.below(300);
        let mut word = || WORDS[dice.below(WORDS.len() as u64) as usize];
        let (slug, name, description) = (
            format!("{}.{}", word().len(), number % 7),
            format!("{} {}", word(), word()),
            format!("{}-{}", word(), word()),
        );
        // Sometimes only the price or the state changes.
        let texts = match market.offers.get(&id(number)) {
            Some(offer) if dice.below(2) == 0 => offer.texts.clone(),
            _ => [slug, name, description],
        };
        let [slug, name, description] = &texts;
        market.list(number, [slug, name, description], 1 + dice.below(40), dice.below(4) > 0);
        if round % 100 == 99 {
            for text in [
                None,
                Some("rel"),
                Some("ROBE"),
                Some("n P"),
                Some("überw"),
                Some("日本語"),
                Some("a"),
                Some("xyzzy"),
                Some("w"),
            ] {
                for slug in [None, Some("7.3"), Some("5.5"), Some("no.such")] {
                    for max_price in [None, Some(0), Some(17)] {
                        let find = find(text, slug, max_price, 7);
                        assert_eq!(market.pages(&find), market.expected(&find), "{find:?}");
                    }
                }
            }
        }
    }
    let numbers =
        |table: u8| market.rows.scan(&Range::prefix(&[table]), Direction::Ascending, usize::MAX).unwrap().len();
    assert_eq!((numbers(16), numbers(17)), (market.offers.len(), market.offers.len()), "a listing keeps its number");
}

/// Decision offer-index: 12,000 offers are more than one search looks at. Every search among them reads a bounded part,
/// says when it stopped there, and can go on.
#[test]
fn a_search_reads_a_bounded_part_of_many_offers() {
    let (mut market, mut dice) = (Market::default(), Dice(16));
    for number in 0..12_000_u64 {
        // Every offer is "common", one in two "even", one in 500 "rare", and only the most expensive one "last".
        let even = if number.is_multiple_of(2) { "even" } else { "odd" };
        let rare = if number.is_multiple_of(500) { "rare" } else { "usual" };
        let name = format!("{even} {rare}");
        let price = if number == 11_999 { 1_000_000 } else { 1 + dice.below(900_000) };
        let description = if number == 11_999 { "common last" } else { "common" };
        market.list(number, [&format!("slug{}", number % 3), &name, description], price, true);
    }
    for (text, slug) in [
        (None, None),
        (None, Some("slug1")),
        (Some("common"), None),
        (Some("even"), None),
        (Some("even"), Some("slug2")),
        (Some("rare"), None),
        (Some("rare"), Some("slug0")),
        (Some("last"), None),
        (Some("e"), Some("slug0")),
        (Some("zz"), None),
        (Some("nobody"), None),
    ] {
        let find = find(text, slug, None, 200);
        assert_eq!(market.pages(&find), market.expected(&find), "{find:?}");
    }
    // If few offers have the trigrams, the result is complete at once, wherever they stand in the order.
    let (found, gets, scanned) = market.ask(&find(Some("common last"), None, None, 50));
    assert_eq!((found.ids, found.truncated, found.next), (vec![id(11_999)], false, None));
    assert!(gets < 100 && scanned < 100, "{gets} and {scanned}");
    let (found, ..) = market.ask(&find(Some("rare"), None, None, 50));
    assert_eq!((found.ids.len(), found.truncated), (24, false));
    // A text that is too short for trigrams: the search stops at its limit, and says so.
    let (found, gets, _) = market.ask(&find(Some("zz"), None, None, 50));
    assert_eq!((found.ids.len(), found.truncated, found.next.is_some()), (0, true, true));
    assert!(gets <= READ + 10);
    // For a text that all offers have, the first page reads only a few more offers than it shows.
    let (found, gets, scanned) = market.ask(&find(Some("common"), None, None, 50));
    assert_eq!((found.ids.len(), found.truncated), (50, false));
    assert!(gets < 100 && scanned < 100, "{gets} and {scanned}");
}

/// Adding an offer with the longest texts fits into one operation, and so does removing it.
#[test]
fn the_longest_texts_fit_one_operation() {
    let mut market = Market::default();
    let text =
        |length: u32, from: u32| (0..length).map(|n| char::from_u32(0x4e00 + from + n).unwrap()).collect::<String>();
    let (slug, name) = ("s".repeat(64), text(80, 1_000));
    for round in 0..3 {
        market.list(1, [&slug, &name, &text(560, 2_000 * round)], 5, true);
        let find = find(Some(&text(10, 2_000 * round + 300)), None, None, 5);
        assert_eq!(market.pages(&find), [id(1)]);
    }
    assert_eq!(market.pages(&find(Some(&text(10, 300)), None, None, 5)), Vec::<Id>::new());
}

#[test]
fn rows_of_the_first_version_say_not_whose_they_are() {
    assert_eq!(decode_row::<IndexedListing>(&encode_row(&()).unwrap()), Ok(IndexedListing(None)));
    let now = IndexedListing(Some([7; 16]));
    assert_eq!(decode_row::<IndexedListing>(&encode_row(&now).unwrap()), Ok(now));
}
