//! Rows of a mailbox as schema 3 wrote them: every body under its id, a row of the index for each unread message, and no
//! stamps in the rows of senders.

use super::*;
use engine::kv::{Batch, decode_row, encode_row};

fn with_version(version: u8, mut row: Vec<u8>) -> Vec<u8> {
    row[0] = version;
    row
}

/// The changes that turn these rows into those of schema 3.
pub(in crate::agent) fn downgrade(rows: &[(Vec<u8>, Vec<u8>)]) -> Batch {
    let mut batch = Batch::default();
    let mut bodies = Vec::new();
    for (key, value) in rows {
        match key[0] {
            33 | 34 => {
                let message: Message = decode_row(value).unwrap();
                let bare = Message { body: None, ..message.clone() };
                let mut row = with_version(2, encode_row(&bare).unwrap());
                row.pop();
                batch.put(key.clone(), row);
                bodies.extend(message.body.map(|body| (message.head.local, body)));
            }
            36 => {
                let block: UnreadBlock = decode_row(value).unwrap();
                let from = &key[..17];
                let first = Timestamp(i64::from_be_bytes(key[17..].try_into().unwrap()) ^ i64::MIN);
                for stamp in block.stamps(first) {
                    batch.put([from, &(stamp.0 ^ i64::MIN).to_be_bytes()].concat(), vec![1]);
                }
            }
            37 => {
                let sender: Sender = decode_row(value).unwrap();
                for stamp in &sender.newest {
                    let stamp = (stamp.0 ^ i64::MIN).to_be_bytes();
                    batch.put([&[36], &key[1..], &stamp].concat(), vec![1]);
                }
                let bare = Sender { newest: Vec::new(), ..sender };
                let mut row = with_version(3, encode_row(&bare).unwrap());
                row.pop();
                batch.put(key.clone(), row);
            }
            _ => {}
        }
    }
    for (local, body) in bodies {
        let key = [&[32], local.as_slice()].concat();
        let (_, row) = rows.iter().find(|(known, _)| *known == key).unwrap();
        let stored = MessageRow { body: Some(body), ..decode_row(row).unwrap() };
        batch.put(key, encode_row(&stored).unwrap());
    }
    batch.put(vec![14], encode_row(&3_u64).unwrap());
    batch
}
