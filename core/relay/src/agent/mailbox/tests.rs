use std::cell::Cell;

use super::*;
use engine::actor::{ActorId, Kind, View};
use engine::kv::{Direction, MemoryStore, Overlay, Pair, Range, Store, StoreError};
use engine::settings::Settings;

/// Counts the rows that are read.
struct Counting<'a> {
    rows: &'a MemoryStore,
    read: Cell<usize>,
}

impl Read for Counting<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.read.set(self.read.get() + 1);
        self.rows.get(key)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        let found = self.rows.scan(range, direction, limit)?;
        self.read.set(self.read.get() + found.len());
        Ok(found)
    }
}

const COUNT: i64 = 100_000;
/// Every hundredth message is unread; senders and threads take turns.
const SENDERS_IN_TURN: i64 = 7;
const THREADS_IN_TURN: i64 = 11;

fn local(n: i64) -> Local {
    let mut local = [0; 12];
    local[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64).to_be_bytes());
    local
}

fn head(n: i64) -> MessageHead {
    MessageHead {
        local: local(n),
        from: [(n % SENDERS_IN_TURN) as u8; 16],
        expires: Timestamp::MAX,
        read_at: (n % 100 != 0).then_some(Timestamp(1)),
        size: 300,
        content_type: None,
        message_type: (n % 1_000 == 1).then(|| "rare".to_owned()),
        thread_id: Some(format!("thread {}", n % THREADS_IN_TURN)),
        reply_to: None,
        kept: false,
    }
}

/// A mailbox of [`COUNT`] messages, made once.
fn mailbox() -> &'static MemoryStore {
    static MAILBOX: std::sync::OnceLock<MemoryStore> = std::sync::OnceLock::new();
    MAILBOX.get_or_init(fill)
}

fn fill() -> MemoryStore {
    let base = MemoryStore::default();
    let mut rows = Overlay::new(&base);
    let body = Body {
        ciphertext: vec![1; 40],
        nonce: [0; 24],
        signature: vec![0; 64],
        envelope: None,
        sender_signing: [0; 32],
        sender_encryption: [0; 32],
    };
    let mut unread_from = [0u64; SENDERS_IN_TURN as usize];
    for n in 0..COUNT {
        let (head, stamp) = (head(n), Timestamp(n));
        let messages = if head.read_at.is_none() { UNREAD } else { READ };
        // Some bodies stand beside their heads, some do not.
        let (beside, apart) = if n % 3 == 0 { (Some(body.clone()), None) } else { (None, Some(body.clone())) };
        messages.put(&mut rows, &(stamp,), &Message { head: head.clone(), body: beside }).unwrap();
        if head.read_at.is_none() {
            UNREAD_FROM.put(&mut rows, &(head.from, stamp), &UnreadBlock::default()).unwrap();
            unread_from[usize::from(head.from[0])] += 1;
        }
        THREADS.put(&mut rows, &(thread_key(head.thread_id.as_ref().unwrap()), stamp), &()).unwrap();
        let stored = MessageRow { stamp, expires: head.expires, body: apart };
        MESSAGES.put(&mut rows, &(head.local,), &stored).unwrap();
    }
    for (from, unread) in unread_from.into_iter().enumerate() {
        let sender = Sender { held: Amount::new(1, 1), unread, ..Sender::default() };
        SENDERS.put(&mut rows, &([from as u8; 16],), &sender).unwrap();
    }
    let counters = Counters {
        last: Timestamp(COUNT),
        messages: COUNT as u64,
        bytes: 0,
        unread: COUNT as u64 / 100,
        ..Counters::default()
    };
    COUNTERS.put(&mut rows, &(), &counters).unwrap();
    let batch = rows.into_batch();
    let mut store = MemoryStore::default();
    store.apply(batch).unwrap();
    store
}

/// Returns how many rows are read for the page after a stamp, and the page.
fn cost(rows: &MemoryStore, filter: &Filter, after: i64, messages: usize) -> (usize, ReadPage) {
    let counting = Counting { rows, read: Cell::new(0) };
    let (actor, settings) = (ActorId::new(Kind::Agent, "x"), Settings::default());
    let view = View::new(&crate::testing::PROGRAM, &actor, &counting, Timestamp(COUNT), &settings);
    let filter = Filter { after: Some(Timestamp(after)), ..filter.clone() };
    let found = page(&view, &filter, Budget { messages, bytes: 1 << 22 }).unwrap();
    (counting.read.get(), found)
}

/// Decision mailbox-pages.
#[test]
fn every_page_of_an_indexed_filter_costs_the_same_on_100_000_messages() {
    let rows = mailbox();
    let all = Filter::default();
    let filters = [
        ("sequence", all.clone()),
        ("unread", Filter { unread: true, ..all.clone() }),
        ("unread by sender", Filter { unread: true, from: Some([3; 16]), ..all.clone() }),
        ("thread", Filter { thread_id: Some("thread 4".into()), ..all.clone() }),
        ("thread, sender", Filter { thread_id: Some("thread 4".into()), from: Some([5; 16]), ..all }),
    ];
    for (name, filter) in filters {
        let costs = [-1, COUNT / 2, COUNT - 40_000].map(|after| {
            let (read, found) = cost(rows, &filter, after, 50);
            assert_eq!((found.items.len(), found.has_more), (50, true), "{name}");
            assert!(found.items.is_sorted_by_key(|item| item.stamp));
            read
        });
        let (least, most) = (costs.iter().min().unwrap(), costs.iter().max().unwrap());
        assert!(most < &(least * 2), "{name}: {costs:?}");
        // Each message reads one row of the index, one head and one body; a few more rows are allowed.
        assert!(*most <= 50 * 3 * 8, "{name}: {costs:?}");
    }
}

/// Decision mailbox-pages.
#[test]
fn a_rare_combination_walks_at_most_10_000_rows_and_goes_on_from_there() {
    let rows = mailbox();
    let filter = Filter { message_type: Some("nowhere".into()), ..Filter::default() };
    let (read, found) = cost(rows, &filter, -1, 50);
    assert!(read <= page::MAX_SCAN + 300, "{read}");
    assert_eq!((found.items.len(), found.has_more), (0, true));
    assert_eq!(found.reached, Some(Timestamp(page::MAX_SCAN as i64 - 1)));
    let rare = Filter { message_type: Some("rare".into()), ..Filter::default() };
    let (mut after, mut seen) = (-1, 0);
    loop {
        let (_, found) = cost(rows, &rare, after, 50);
        seen += found.items.len();
        if !found.has_more {
            break;
        }
        after = found.reached.unwrap().0;
    }
    assert_eq!(seen, 100);
}

#[test]
fn buckets_end_with_the_minute_that_holds_the_end() {
    for (end, minute) in [(0, 0), (1, 60_000_000), (60_000_000, 60_000_000), (60_000_001, 120_000_000)] {
        assert_eq!(bucket(Timestamp(end)), Timestamp(minute));
    }
    assert!(bucket(Timestamp(i64::MAX)).0 > 0);
}

/// Runs an operation on a mailbox, applies its changes, and returns how many rows changed.
fn run<O: engine::actor::Operation>(rows: &mut MemoryStore, now: Timestamp, operation: &O) -> usize {
    use engine::actor::host::{Space, perform};
    let (actor, settings) = (ActorId::new(Kind::Agent, "x"), Settings::default());
    let call = engine::actor::Call::operation("x", operation).unwrap();
    let outcome = perform(
        &Space { program: &crate::testing::PROGRAM, actor: &actor, rows, now, seed: [0; 32], settings: &settings },
        &call,
    );
    outcome.reply.unwrap();
    let changed = outcome.batch.len();
    rows.apply(outcome.batch).unwrap();
    changed
}

/// Decision timers-and-alarms.
#[test]
fn a_purge_changes_at_most_500_rows_and_goes_on_until_all_is_gone() {
    let mut rows = mailbox().clone();
    let count = |rows: &MemoryStore, range: Range| rows.scan(&range, Direction::Ascending, usize::MAX).unwrap().len();
    let mut ends = Overlay::new(&rows);
    // A thousand messages, spread over the whole mailbox, expire now; each came in a minute of its own.
    let end = bucket(Timestamp(1));
    for n in (0..1_000).map(|n| n * 97) {
        let stamp = Timestamp(n);
        let mut message = stored::get(&ends, stamp).unwrap().unwrap();
        message.head.expires = end;
        let messages = if message.head.read_at.is_none() { UNREAD } else { READ };
        messages.put(&mut ends, &(stamp,), &message).unwrap();
    }
    ENDS.put(&mut ends, &(end, bucket(Timestamp(COUNT))), &Timestamp(0)).unwrap();
    let batch = ends.into_batch();
    rows.apply(batch).unwrap();
    let mut runs = 0;
    while count(&rows, ENDS.range()) > 0 {
        assert!(run(&mut rows, end, &Purge) <= 500);
        runs += 1;
    }
    let heads = count(&rows, READ.range()) + count(&rows, UNREAD.range());
    assert_eq!((runs, heads), (COUNT as usize / 64 + 1, COUNT as usize - 1_000));
    // Their ids are kept for repeats and then forgotten, also at most 500 rows at a time.
    assert_eq!(count(&rows, MESSAGES.range()), COUNT as usize);
    let later = bucket(Timestamp(COUNT + REPEATS));
    while count(&rows, GONE.range()) > 0 {
        assert!(run(&mut rows, later, &Purge) <= 500);
    }
    assert_eq!(count(&rows, MESSAGES.range()), COUNT as usize - 1_000);
}

#[test]
fn a_purge_of_messages_that_came_in_minutes_of_their_own_changes_at_most_500_rows() {
    let mut rows = MemoryStore::default();
    let mut space = Overlay::new(&rows);
    for n in 0..200 {
        let stamp = Timestamp(n * MINUTE);
        let head = MessageHead { expires: stamp.plus(1), read_at: None, from: [n as u8; 16], ..head(n) };
        let from = head.from;
        UNREAD.put(&mut space, &(stamp,), &Message { head, body: None }).unwrap();
        SENDERS
            .put(&mut space, &(from,), &Sender { held: Amount::new(2, 1_000), unread: 2, ..Sender::default() })
            .unwrap();
        ENDS.put(&mut space, &(bucket(stamp.plus(1)), bucket(stamp)), &stamp).unwrap();
    }
    let batch = space.into_batch();
    rows.apply(batch).unwrap();
    let mut runs = 0;
    while !UNREAD.scan(&rows, &UNREAD.range(), Direction::Ascending, 1).unwrap().is_empty() {
        assert!(run(&mut rows, Timestamp(200 * MINUTE), &Purge) <= 500);
        runs += 1;
    }
    assert_eq!(runs, 4);
}

#[test]
fn of_two_readers_of_the_same_messages_the_further_one_decides_the_session() {
    let mut rows = MemoryStore::default();
    let key = ([1; 16], [2; 32]);
    let store = |stamp: i64, sealed: u8| StoreSessions {
        sessions: vec![StoredSession { key, sealed: vec![sealed], stamp: Timestamp(stamp) }],
    };
    for (stamp, sealed) in [(5, 5), (3, 3), (7, 7), (7, 8)] {
        run(&mut rows, Timestamp(100), &store(stamp, sealed));
    }
    let (actor, settings) = (ActorId::new(Kind::Agent, "x"), Settings::default());
    let view = View::new(&crate::testing::PROGRAM, &actor, &rows, Timestamp(100), &settings);
    let read = engine::actor::Query::run(ReadSessions { keys: vec![key, ([1; 16], [3; 32])] }, &view).unwrap();
    let known = KnownSession { sealed: Some(vec![8]), beginning: None };
    assert_eq!(read, [known, KnownSession::default()]);
}

/// Decision server-side-sessions keeps a row per session for 30 days: a sender that begins one with every message must
/// not fill the mailbox's space with them.
#[test]
fn the_sessions_of_one_sender_are_bounded_and_the_latest_stay() {
    let mut rows = MemoryStore::default();
    let session =
        |from: u8, n: u8| StoredSession { key: ([from; 16], [n; 32]), sealed: vec![n], stamp: Timestamp(i64::from(n)) };
    run(&mut rows, Timestamp(500), &StoreSessions { sessions: vec![session(2, 1)] });
    // Sessions are stored in one batch, then one by one, and last one that is older than all kept ones.
    run(&mut rows, Timestamp(500), &StoreSessions { sessions: (1..=40).map(|n| session(1, n)).collect() });
    for n in (41..=100).chain([7]) {
        run(&mut rows, Timestamp(500), &StoreSessions { sessions: vec![session(1, n)] });
    }
    let all = sessions::SESSIONS.scan(&rows, &sessions::SESSIONS.range(), Direction::Ascending, 1_000).unwrap();
    let kept: Vec<(u8, u8)> = all.iter().map(|((from, label), _)| (from[0], label[0])).collect();
    let latest: Vec<(u8, u8)> = (69..=100).map(|n| (1, n)).chain([(2, 1)]).collect();
    assert_eq!(kept, latest);
    // The calendar has no day of a session that was deleted.
    let days = rows.scan(&Range::prefix(&[42]), Direction::Ascending, 1_000).unwrap();
    assert_eq!(days.len(), latest.len());
}

/// Decision schema-versions: the second version of a sender's row had no kept room and one bit for its class; the first
/// version had neither. The sender's messages count in the right share from its next message on.
#[test]
fn senders_and_counters_of_earlier_versions_are_read() {
    let row = |version: u8, bytes: Vec<u8>| [vec![version], bytes].concat();
    let first = row(1, postcard::to_allocvec(&(300_u64, 70_000_u64, 2_u64)).unwrap());
    let read: Sender = kv::decode_row(&first).unwrap();
    let held = Amount::new(300, 70_000);
    assert_eq!(read, Sender { held, unread: 2, class: Class::Known, ..Sender::default() });
    for (silent, class) in [(false, Class::Known), (true, Class::Silent)] {
        let second = row(2, postcard::to_allocvec(&(300_u64, 70_000_u64, 2_u64, silent)).unwrap());
        let read: Sender = kv::decode_row(&second).unwrap();
        assert_eq!(read, Sender { held, unread: 2, class, ..Sender::default() });
    }
    let third = row(3, postcard::to_allocvec(&(300_u64, 70_000_u64, 2_u64, Class::Stranger, 1_u64, 2_u64)).unwrap());
    let third: Sender = kv::decode_row(&third).unwrap();
    let kept = Amount::new(1, 2);
    assert_eq!(third, Sender { held, unread: 2, class: Class::Stranger, kept, ..Sender::default() });
    let now = Sender { newest: vec![Timestamp(5)], ..third };
    assert_eq!(kv::decode_row::<Sender>(&kv::encode_row(&now).unwrap()).unwrap(), now);
    for broken in [&first[..2], &[5, 1, 1, 1], &[]] {
        assert!(kv::decode_row::<Sender>(broken).is_err());
    }
    let counters = postcard::to_allocvec(&(Timestamp(9), 300_u64, 70_000_u64, 2_u64)).unwrap();
    for bytes in [row(1, counters.clone()), row(2, [counters, vec![7, 1, 1]].concat())] {
        let read: Counters = kv::decode_row(&bytes).unwrap();
        assert_eq!((read.messages, read.shares), (300, Shares::default()));
    }
}

#[test]
fn what_silent_senders_had_together_moves_into_the_counters() {
    let mut rows = MemoryStore::default();
    let mut space = Overlay::new(&rows);
    UNPROVED.put(&mut space, &(), &Amount::new(7, 900)).unwrap();
    COUNTERS.put(&mut space, &(), &Counters { messages: 9, bytes: 1_000, ..Counters::default() }).unwrap();
    let mut batch = space.into_batch();
    batch.put(vec![14], kv::encode_row(&2_u64).unwrap());
    rows.apply(batch).unwrap();
    run(&mut rows, Timestamp(1), &Purge);
    let mut counters = COUNTERS.get(&rows, &()).unwrap().unwrap();
    assert_eq!((counters.messages, counters.shares.of(Class::Silent).held), (9, Amount::new(7, 900)));
    assert_eq!(UNPROVED.get(&rows, &()).unwrap(), None);
}

#[test]
fn stored_shapes_are_pinned() {
    use engine::kv::encode_row;
    let hex = |bytes: Vec<u8>| crypto::encoding::encode_hex(&bytes);
    let head = MessageHead {
        local: [0xaa; 12],
        from: [0xbb; 16],
        expires: Timestamp(1),
        read_at: Some(Timestamp(2)),
        size: 3,
        content_type: Some("c".into()),
        message_type: None,
        thread_id: Some("t".into()),
        reply_to: None,
        kept: false,
    };
    let expected = format!("{}{}0201040301016300010174{}", "aa".repeat(12), "bb".repeat(16), "00");
    let message = Message { head, body: None };
    let mut bytes = encode_row(&message).unwrap();
    assert_eq!(hex(bytes.clone()), format!("03{expected}0000"));
    for version in [2, 1] {
        bytes.pop();
        bytes[0] = version;
        assert_eq!(kv::decode_row::<Message>(&bytes).unwrap(), message);
    }
    let body = Body {
        ciphertext: vec![1, 2],
        nonce: [3; 24],
        signature: vec![4],
        envelope: Some("e".into()),
        sender_signing: [5; 32],
        sender_encryption: [6; 32],
    };
    let expected = format!("01020102{}0104010165{}{}", "03".repeat(24), "05".repeat(32), "06".repeat(32));
    assert_eq!(hex(encode_row(&body).unwrap()), expected);
    let stored = |body| hex(encode_row(&MessageRow { stamp: Timestamp(1), expires: Timestamp(-1), body }).unwrap());
    assert_eq!(stored(None), "01020100");
    assert_eq!(stored(Some(body)), format!("01020101{}", &expected[2..]));
    let block: UnreadBlock = kv::decode_row(&[1]).unwrap();
    assert_eq!(
        (hex(encode_row(&block).unwrap()), kv::decode_row::<UnreadBlock>(&[1, 0]).is_err()),
        ("0200".into(), true)
    );
}
