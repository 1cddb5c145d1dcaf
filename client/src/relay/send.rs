//! Sending messages.

use crypto::conversation::sending::{MAX_PADDED, sealed_json};
use crypto::conversation::{Options, Posted, Sending};
use crypto::server_message::{self, SenderSecrets};
use rand_chacha::rand_core::Rng;
use serde::Serialize;

use super::agent::Agent;
use super::answers::Sent;
use super::draft::{Draft, Mode};
use crate::http::Method;
use crate::{Error, Result, platform};

/// Messages of one session. The next one begins anew, so that a key that was stolen opens no more than these.
const LONGEST: u32 = 500;

#[derive(Serialize)]
struct Plain<'a> {
    to: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<u32>,
}

impl Agent {
    /// Sends a text in the usual way, see [`Draft::to`].
    pub async fn say(&self, to: &str, text: &str) -> Result<Sent> {
        self.send(&Draft::to(to, text)).await
    }

    /// Sends a message. When this returns an error without an answer of the service, the message may have been sent.
    ///
    /// Errors: [`Code::KeyChanged`](crate::Code::KeyChanged) if the recipient's keys are not those that were pinned;
    /// [`Code::NotFound`](crate::Code::NotFound) if there is no such agent, or it refuses this sender; [`Error::Usage`] if
    /// the draft asks for options that its mode does not have.
    pub async fn send(&self, draft: &Draft) -> Result<Sent> {
        if draft.contradicts {
            let text =
                "a plain box has no session, so it is never sealed, deniable, unpadded, classical or from prekeys";
            return Err(Error::usage(text));
        }
        let usual = if self.holds_keys() { Mode::Session(Options::default()) } else { Mode::ByService };
        match draft.mode.unwrap_or(usual) {
            Mode::ByService => self.send_plain(draft).await,
            Mode::Box => self.send_box(draft).await,
            Mode::Session(options) => self.send_in_session(draft, options, false).await,
            Mode::Prekeys(options) => self.send_in_session(draft, options, true).await,
        }
    }

    async fn send_plain(&self, draft: &Draft) -> Result<Sent> {
        let meta = draft.meta();
        let body = Plain {
            to: &draft.to,
            message: &draft.text,
            content_type: meta.content_type,
            message_type: meta.message_type,
            thread_id: meta.thread_id,
            reply_to: meta.reply_to,
            ttl: meta.ttl,
        };
        self.call(Method::Post, &["send"]).json(&body).once().send().await
    }

    async fn send_box(&self, draft: &Draft) -> Result<Sent> {
        let (keys, did) = (self.keys()?, self.did());
        let peer = self.peer(&draft.to).await?.peer;
        let nonce = platform::random_bytes()?;
        let secrets = SenderSecrets { signing: &keys.signing, encryption: &keys.encryption };
        let time = platform::time();
        let made = server_message::make(secrets, &did, &peer.did, &peer.encryption_key, &time, &nonce, &draft.text)?;
        let owned = |text: &Option<String>, usual: &str| Some(text.clone().unwrap_or_else(|| usual.to_owned()));
        let posted = Posted {
            to: peer.did,
            ciphertext: made.ciphertext,
            nonce: made.nonce,
            signature: made.signature,
            envelope: made.envelope,
            content_type: owned(&draft.content_type, "text/plain"),
            message_type: owned(&draft.message_type, "text"),
            thread_id: draft.thread_id.clone(),
            reply_to: draft.reply_to.clone(),
            ttl: draft.ttl,
        };
        self.post(&posted).await
    }

    /// The session's step is stored before the message is posted: a key that was used must never be used again (decision
    /// session-before-post).
    async fn send_in_session(&self, draft: &Draft, options: Options, prekeys: bool) -> Result<Sent> {
        let (keys, did, time) = (self.keys()?, self.did(), platform::time());
        let length = match options.sealed {
            true => sealed_json(&did, &time, &draft.text, draft.meta()).len(),
            false => draft.text.len(),
        };
        if options.padding && length > MAX_PADDED {
            return Err(Error::usage(format!("padding holds at most {MAX_PADDED} bytes; send the text unpadded")));
        }
        let mut random = platform::random()?;
        let mut draw = |bytes: &mut [u8]| random.fill_bytes(bytes);
        let _lock = self.lock_peer(&draft.to).await;
        let mut sessions = self.sessions(&draft.to).await?;
        let fits = |session: &Sending| session.is_from_prekeys() == prekeys && session.step() < LONGEST;
        let going_on = sessions.sending.take().filter(fits);
        if going_on.is_none() {
            // A session begins with the keys that the peer has now.
            self.forget_peer(&draft.to);
        }
        let known = self.peer(&draft.to).await?;
        let mut session = match going_on {
            Some(session) => session,
            None if !prekeys => Sending::start(&keys, &known.peer, options, &mut draw)?,
            None if !known.opens_prekeys => {
                return Err(Error::usage(format!("{} does not say that it opens sessions from prekeys", draft.to)));
            }
            None => {
                let bundle = self.bundle(&known).await?;
                Sending::start_from_prekeys(&keys, &did, &known.peer, &bundle, options, &mut draw)?
            }
        };
        let posted = session.seal(&keys, &did, &known.peer, options, &time, &draft.text, draft.meta(), &mut draw)?;
        sessions.sending = Some(session);
        self.keep_sessions(&draft.to, &sessions).await?;
        self.post(&posted).await
    }

    /// The service recognises a message that comes again by its nonce and signature, so it can be repeated.
    async fn post(&self, posted: &Posted) -> Result<Sent> {
        let sent = self.call(Method::Post, &["send", "encrypted"]).json(posted).repeatable().send::<Sent>().await;
        let changed = match &sent {
            Ok(sent) => sent.key_changed,
            Err(error) => matches!(error.code(), Some(crate::Code::KeyChanged | crate::Code::NotFound)),
        };
        if changed {
            self.forget_peer(&posted.to);
        }
        sent
    }
}
