//! What single actors hold, and what is free inside the data file, as they were last counted.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use heliograph_core::engine::time::SECOND;

use super::{Form, Moment};
use crate::census::{Census, OfKind};
use crate::runtime::Native;

impl Moment {
    /// Absent until everything was counted once, some moments after the start.
    pub(super) fn census(&mut self, native: &Native) {
        let census = native.census.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(census) = census else { return };
        let Census { at, kinds, mailboxes, largest_mailbox, webhooks, free_inside } = &*census;
        let help = "When everything in this text that is said to be counted was counted";
        self.one("heliograph_counted_timestamp_seconds", help, [], at.0 as f64 / SECOND as f64);
        let help = "Bytes inside the data file that hold nothing and are used again, as counted; about";
        self.one("heliograph_data_file_free_bytes", help, [], *free_inside as f64);
        self.kinds("heliograph_actors", "Actors by kind, as counted", kinds, |of| of.actors);
        let help = "Messages between actors that wait for delivery, by kind of their sender, as counted";
        self.kinds("heliograph_outbox_waiting", help, kinds, |of| of.waiting);
        let help = "The most messages that wait in the outbox of one actor, by kind, as counted";
        self.kinds("heliograph_outbox_largest", help, kinds, |of| of.largest);
        let help = "Messages between actors that were given up after 7 days, by kind of their sender, as counted";
        self.kinds("heliograph_outbox_parked", help, kinds, |of| of.parked);
        let oldest = kinds.values().filter_map(|of| of.oldest).min();
        let help = "When the message that waits for delivery the longest was sent, as counted";
        let values = oldest.map(|at| ([], at.0 as f64 / SECOND as f64));
        self.push((Form::Gauge, "heliograph_outbox_oldest_timestamp_seconds", help), values);
        for (name, help, value) in [
            ("heliograph_mailbox_messages", "Messages in mailboxes, as counted", mailboxes.messages),
            ("heliograph_mailbox_unread", "Messages in mailboxes that nobody has read, as counted", mailboxes.unread),
            ("heliograph_mailbox_bytes", "Bytes of the messages in mailboxes, as counted", mailboxes.bytes),
            ("heliograph_mailbox_largest_bytes", "Bytes of the largest mailbox, as counted", *largest_mailbox),
            ("heliograph_webhooks", "Webhooks and subscriptions to alerts, as counted", webhooks.all),
            (
                "heliograph_webhooks_disabled",
                "Webhooks and subscriptions that were switched off because their receivers failed, as counted",
                webhooks.disabled,
            ),
            ("heliograph_webhooks_failing", "Those whose last delivery failed, as counted", webhooks.failing),
            ("heliograph_deliveries_waiting", "Deliveries to webhooks that wait, as counted", webhooks.waiting),
        ] {
            self.one(name, help, [], value as f64);
        }
    }

    fn kinds(
        &mut self,
        name: &'static str,
        help: &'static str,
        kinds: &BTreeMap<&'static str, OfKind>,
        value: impl Fn(&OfKind) -> u64,
    ) {
        let values: Vec<_> =
            kinds.iter().map(|(kind, of)| ([("kind", (*kind).to_owned())], value(of) as f64)).collect();
        self.push((Form::Gauge, name, help), values);
    }
}
