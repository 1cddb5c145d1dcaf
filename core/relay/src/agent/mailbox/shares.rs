//! How much of a mailbox each class of senders may fill. The reasons are in `docs/decisions/mailbox.md`.
//!
//! Senders that the owner knows have one half for themselves and may use the other half too. Strangers share the other
//! half; those whose keys have signed nothing may use a tenth of it. In each of the three rooms a part is kept for
//! first messages of hybrid sessions from that class of senders. They go there when everything else is full.

use serde::{Deserialize, Serialize};

use engine::kv::Row;
use engine::settings::Settings;

/// One part in this many is kept for first messages of hybrid sessions, since the loss of one silences its whole
/// session.
pub(super) const HEADROOM: u64 = 20;
/// One sender may fill at most one part in this many of the whole mailbox.
const SENDER_SHARE: u64 = 10;
/// Silent strangers may fill one part in this many of the room of all strangers.
const SILENT_SHARE: u64 = 10;

/// An amount of room, or of messages in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Amount {
    pub messages: u64,
    /// Bytes that count against the quota.
    pub bytes: u64,
}
impl Row for Amount {}

impl Amount {
    pub fn new(messages: u64, bytes: u64) -> Amount {
        Amount { messages, bytes }
    }

    fn each(self, other: Amount, of: impl Fn(u64, u64) -> u64) -> Amount {
        Amount::new(of(self.messages, other.messages), of(self.bytes, other.bytes))
    }

    pub fn plus(self, other: Amount) -> Amount {
        self.each(other, u64::saturating_add)
    }

    pub fn less(self, other: Amount) -> Amount {
        self.each(other, u64::saturating_sub)
    }

    /// One part in `parts`, at least one message and one byte.
    fn part(self, parts: u64) -> Amount {
        self.each(self, |whole, _| (whole / parts).max(1))
    }

    /// The part that is kept for first messages.
    fn headroom(self) -> Amount {
        self.each(self, |whole, _| whole.div_ceil(HEADROOM).min(whole / 2))
    }

    fn fits(self, room: Amount) -> bool {
        self.messages <= room.messages && self.bytes <= room.bytes
    }
}

/// The relation of a sender to the owner of a mailbox. The numbers are stored: in earlier rows one bit said whether the
/// sender was silent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Class {
    /// The owner pinned or allowed it, wrote to it, or invited it into a channel that it joined.
    #[default]
    Known,
    /// Its key has signed nothing here, or another relay speaks for it.
    Silent,
    Stranger,
}

/// The room that the messages of a class of senders take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Share {
    pub held: Amount,
    /// The part of `held` that is in the room kept for first messages.
    pub kept: Amount,
}

impl Share {
    pub fn plus(self, other: Share) -> Share {
        Share { held: self.held.plus(other.held), kept: self.kept.plus(other.kept) }
    }

    pub fn less(self, other: Share) -> Share {
        Share { held: self.held.less(other.held), kept: self.kept.less(other.kept) }
    }

    /// The part of `held` that is in the room for all messages.
    fn common(self) -> Amount {
        self.held.less(self.kept)
    }
}

/// The share of each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shares {
    known: Share,
    silent: Share,
    strangers: Share,
}

impl Shares {
    pub fn of(&mut self, class: Class) -> &mut Share {
        match class {
            Class::Known => &mut self.known,
            Class::Silent => &mut self.silent,
            Class::Stranger => &mut self.strangers,
        }
    }
}

/// The sizes of the rooms.
pub(super) struct Rooms {
    whole: Amount,
    /// The room for strangers.
    rest: Amount,
    /// The part of `rest` for silent strangers.
    silent: Amount,
}

/// The reason why there is no room, for the sender.
pub(super) type Full = &'static str;

impl Rooms {
    pub fn of(settings: &Settings) -> Rooms {
        let whole = Amount::new(settings.mailbox_messages, settings.mailbox_bytes);
        let rest = whole.part(2);
        Rooms { whole, rest, silent: rest.part(SILENT_SHARE) }
    }

    fn kept(&self, class: Class) -> Amount {
        match class {
            Class::Known => self.whole.less(self.rest).headroom(),
            Class::Silent => self.silent.headroom(),
            Class::Stranger => self.rest.less(self.silent).headroom(),
        }
    }

    /// Checks that one sender may take this much room.
    pub fn check_sender(&self, held: Amount, opens_session: bool) -> Result<(), Full> {
        let most = self.whole.part(SENDER_SHARE);
        let room = if opens_session { most } else { most.less(most.headroom()) };
        if held.fits(room) { Ok(()) } else { Err("Your share of the recipient's mailbox is full; retry later.") }
    }

    /// Finds room for one more message of `more`. `all` is what the mailbox holds, and `shares` what each class holds.
    /// Returns whether the message takes room that is kept for first messages.
    pub fn admit(
        &self,
        all: Amount,
        shares: Shares,
        class: Class,
        more: Amount,
        opens_session: bool,
    ) -> Result<bool, Full> {
        let Err(full) = self.check_common(all, shares, class, more) else { return Ok(false) };
        let mut shares = shares;
        let kept = shares.of(class).kept.plus(more);
        if opens_session && kept.fits(self.kept(class)) { Ok(true) } else { Err(full) }
    }

    fn check_common(&self, all: Amount, shares: Shares, class: Class, more: Amount) -> Result<(), Full> {
        let Shares { known, silent, strangers } = shares;
        let kept_of_strangers = self.kept(Class::Silent).plus(self.kept(Class::Stranger));
        let kept = kept_of_strangers.plus(self.kept(Class::Known));
        let taken = all.less(known.kept).less(silent.kept).less(strangers.kept).plus(more);
        if !taken.fits(self.whole.less(kept)) {
            return Err("The recipient's mailbox is full; retry later.");
        }
        let by_strangers = silent.common().plus(strangers.common()).plus(more);
        if class != Class::Known && !by_strangers.fits(self.rest.less(kept_of_strangers)) {
            return Err("The share of the recipient's mailbox for senders that the recipient does not know is full.");
        }
        let room = self.silent.less(self.kept(Class::Silent));
        if class == Class::Silent && !silent.common().plus(more).fits(room) {
            return Err("The share of the recipient's mailbox for senders that proved no key is full.");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mailbox under test: 400 messages, and more bytes than the tests need. Strangers have 200 messages, silent
    /// strangers 20 of these.
    #[derive(Default)]
    struct Mailbox {
        all: Amount,
        shares: Shares,
    }

    impl Mailbox {
        fn send(&mut self, class: Class, opens_session: bool) -> bool {
            let mut settings = Settings::default();
            settings.set("mailbox_messages", "400").unwrap();
            let one = Amount::new(1, 100);
            let Ok(kept) = Rooms::of(&settings).admit(self.all, self.shares, class, one, opens_session) else {
                return false;
            };
            self.all = self.all.plus(one);
            let kept = if kept { one } else { Amount::default() };
            let share = self.shares.of(class);
            *share = share.plus(Share { held: one, kept });
            true
        }

        /// Sends until no more messages are admitted, and returns how many were.
        fn fill(&mut self, class: Class, opens_session: bool) -> u64 {
            (0..1_000).take_while(|_| self.send(class, opens_session)).count() as u64
        }
    }

    const ALL: [Class; 3] = [Class::Known, Class::Silent, Class::Stranger];

    #[test]
    fn strangers_cannot_fill_the_half_of_friends() {
        let mut mailbox = Mailbox::default();
        assert_eq!(mailbox.fill(Class::Silent, false), 19);
        assert_eq!(mailbox.fill(Class::Stranger, false), 200 - 1 - 9 - 19);
        assert_eq!(mailbox.fill(Class::Known, false), 200 - 10);
        for class in ALL {
            assert!(!mailbox.send(class, false));
        }
    }

    #[test]
    fn friends_may_use_the_rest_too() {
        let mut mailbox = Mailbox::default();
        assert_eq!(mailbox.fill(Class::Known, false), 400 - 20);
        assert!(!mailbox.send(Class::Stranger, false) && !mailbox.send(Class::Silent, false));
    }

    #[test]
    fn room_kept_for_first_messages_is_taken_by_nobody_else_in_any_order() {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for order in orders.map(|order| order.map(|at: usize| ALL[at])) {
            let mut mailbox = Mailbox::default();
            // Known senders fill the mailbox, so that each class has only its kept room left.
            mailbox.fill(Class::Known, false);
            for class in order {
                let kept = match class {
                    Class::Known => 10,
                    Class::Silent => 1,
                    Class::Stranger => 9,
                };
                assert_eq!(mailbox.fill(class, true), kept, "{order:?} {class:?}");
            }
            assert_eq!(mailbox.all.messages, 400, "all of it is used");
        }
    }

    #[test]
    fn first_messages_that_came_while_there_was_room_leave_what_is_kept_alone() {
        let mut mailbox = Mailbox::default();
        for _ in 0..50 {
            assert!(mailbox.send(Class::Known, true));
        }
        assert_eq!(mailbox.fill(Class::Known, false), 400 - 20 - 50);
        assert_eq!(mailbox.fill(Class::Known, true), 10);
    }

    #[test]
    fn the_smallest_mailbox_still_takes_a_message_of_a_friend() {
        let mut settings = Settings::default();
        for messages in ["1", "2", "3", "10"] {
            settings.set("mailbox_messages", messages).unwrap();
            let admitted = Rooms::of(&settings).admit(
                Amount::default(),
                Shares::default(),
                Class::Known,
                Amount::new(1, 1),
                false,
            );
            assert!(admitted == Ok(false) || messages == "1", "{messages}");
        }
    }
}
