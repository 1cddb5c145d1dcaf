//! A message to be sent, and how it is sealed.

use crypto::conversation::{Meta, Options};
use serde::Deserialize;

/// How a message is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The service seals it, for agents whose keys it holds. It can read the text.
    ByService,
    /// One NaCl box with both static keys.
    Box,
    /// A session, as the public clients have it.
    Session(Options),
    /// A session that begins from the recipient's prekeys and forgets its keys (decision one-time-prekeys). Only clients
    /// of this library open it, which say so in their metadata.
    Prekeys(Options),
}

/// What can be chosen of a message, by name. The packages for other languages take it in this form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Choices {
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
    pub content_type: Option<String>,
    pub message_type: Option<String>,
    /// In seconds.
    pub ttl: Option<u32>,
    /// [`Mode::Box`].
    pub r#box: bool,
    /// [`Mode::Prekeys`].
    pub prekeys: bool,
    pub sealed: bool,
    pub deniable: bool,
    pub unpadded: bool,
    pub classical: bool,
}

/// A message to be sent.
///
/// ```
/// use heliograph_client::Draft;
///
/// let draft = Draft::to("did:svc:SzW383y2F1hUUW5tt2vBi", "Hello").thread("t1").ttl(3_600).sealed();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub(crate) to: String,
    pub(crate) text: String,
    pub(crate) mode: Option<Mode>,
    pub(crate) content_type: Option<String>,
    pub(crate) message_type: Option<String>,
    pub(crate) thread_id: Option<String>,
    pub(crate) reply_to: Option<String>,
    pub(crate) ttl: Option<u32>,
    /// Whether it asks for a session's option in a mode without sessions. Sending refuses it.
    pub(crate) contradicts: bool,
}

impl Draft {
    /// A text for an agent. Without more it goes by [`Mode::Session`] with the options of the public clients, or
    /// [`Mode::ByService`] if the service holds the keys.
    pub fn to(did: &str, text: &str) -> Draft {
        let (to, text) = (did.to_owned(), text.to_owned());
        let (mode, content_type, message_type, thread_id, reply_to, ttl) = (None, None, None, None, None, None);
        Draft { to, text, mode, content_type, message_type, thread_id, reply_to, ttl, contradicts: false }
    }

    /// Seals it this way, in place of all that was said before of how. A box takes no further option.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Draft {
        Draft { mode: Some(mode), contradicts: false, ..self }
    }

    fn options(self, change: impl FnOnce(&mut Options)) -> Draft {
        let mut mode = self.mode.unwrap_or(Mode::Session(Options::default()));
        match &mut mode {
            Mode::Session(options) | Mode::Prekeys(options) => change(options),
            // Neither has a session. Dropping the option would send less protection than was asked for.
            Mode::ByService | Mode::Box => return Draft { contradicts: true, ..self },
        }
        self.mode(mode)
    }

    /// Puts sender, thread and types inside of the ciphertext. The service still knows who sends.
    #[must_use]
    pub fn sealed(self) -> Draft {
        self.options(|options| options.sealed = true)
    }

    /// Authenticates so that the recipient can prove nothing to others.
    #[must_use]
    pub fn deniable(self) -> Draft {
        self.options(|options| options.deniable = true)
    }

    /// Leaves the length of the text visible, and allows more than 65,535 bytes.
    #[must_use]
    pub fn unpadded(self) -> Draft {
        self.options(|options| options.padding = false)
    }

    /// Leaves ML-KEM-768 out of a new session.
    #[must_use]
    pub fn classical(self) -> Draft {
        self.options(|options| options.post_quantum = false)
    }

    /// Begins the session from the recipient's prekeys, see [`Mode::Prekeys`].
    #[must_use]
    pub fn from_prekeys(self) -> Draft {
        let draft = self.options(|_| ());
        match draft.mode {
            Some(Mode::Session(options)) => draft.mode(Mode::Prekeys(options)),
            _ => draft,
        }
    }

    /// The media type of the text; `text/plain` without it.
    #[must_use]
    pub fn content_type(self, value: &str) -> Draft {
        Draft { content_type: Some(value.to_owned()), ..self }
    }

    /// What kind of message it is; `text` without it.
    #[must_use]
    pub fn message_type(self, value: &str) -> Draft {
        Draft { message_type: Some(value.to_owned()), ..self }
    }

    /// The conversation that it belongs to.
    #[must_use]
    pub fn thread(self, id: &str) -> Draft {
        Draft { thread_id: Some(id.to_owned()), ..self }
    }

    /// The message that it answers.
    #[must_use]
    pub fn reply_to(self, id: &str) -> Draft {
        Draft { reply_to: Some(id.to_owned()), ..self }
    }

    /// How long the service keeps it, in seconds: 1 to 604,800, and a day without it.
    #[must_use]
    pub fn ttl(self, seconds: u32) -> Draft {
        Draft { ttl: Some(seconds), ..self }
    }

    /// A text for an agent, with all choices at once.
    pub fn chosen(did: &str, text: &str, choices: &Choices) -> Draft {
        type Step = fn(Draft) -> Draft;
        type TextStep = fn(Draft, &str) -> Draft;
        let steps: [(bool, Step); 6] = [
            (choices.r#box, |draft| draft.mode(Mode::Box)),
            (choices.sealed, Draft::sealed),
            (choices.deniable, Draft::deniable),
            (choices.unpadded, Draft::unpadded),
            (choices.classical, Draft::classical),
            (choices.prekeys, Draft::from_prekeys),
        ];
        let texts: [(&Option<String>, TextStep); 4] = [
            (&choices.thread_id, Draft::thread),
            (&choices.reply_to, Draft::reply_to),
            (&choices.content_type, Draft::content_type),
            (&choices.message_type, Draft::message_type),
        ];
        let mut draft = Draft { ttl: choices.ttl, ..Draft::to(did, text) };
        for (_, step) in steps.into_iter().filter(|(wanted, _)| *wanted) {
            draft = step(draft);
        }
        for (text, step) in texts {
            if let Some(text) = text {
                draft = step(draft, text);
            }
        }
        draft
    }

    pub(crate) fn meta(&self) -> Meta<'_> {
        Meta {
            content_type: self.content_type.as_deref(),
            message_type: self.message_type.as_deref(),
            thread_id: self.thread_id.as_deref(),
            reply_to: self.reply_to.as_deref(),
            ttl: self.ttl,
        }
    }
}
