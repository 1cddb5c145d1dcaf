//! From flags and profile to a connection.

use std::future::Future;

use heliograph_client::store::{FileStore, Store};
use heliograph_client::{Agent, Client, Config, Error};

use super::profile::{self, Profile};
use super::transport::Ureq;
use crate::cli::args::user::Ask;
use crate::cli::exit::{Failure, NO_ANSWER};

/// The server that is asked when nothing names one: that of this machine.
const USUAL: &str = "http://127.0.0.1:8787";

/// Tries of a request: few, because somebody waits.
const TRIES: u32 = 3;

/// A server, and the profile that names it.
pub struct Asked {
    pub client: Client,
    pub profile: Profile,
}

/// The value of a variable that is set and not empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Runs a command on the server that the flags, the environment or the profile name.
pub fn run<F>(ask: &Ask, command: impl FnOnce(Asked) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the program cannot begin to work: {error}"))?;
    let done = runtime.block_on(async {
        let asked = Asked::by(ask)?;
        let usual = asked.client.base() == USUAL;
        command(asked).await.map_err(|failure| if usual { hinted(failure) } else { failure })
    });
    // A thread may still wait for the next piece of a stream that nobody reads any more.
    runtime.shutdown_background();
    done
}

/// Nobody answers at this machine: perhaps whoever asks did not think of naming a server.
fn hinted(mut failure: Failure) -> Failure {
    if failure.code == NO_ANSWER {
        failure.text.push_str("\n\n  tip: name a server with --url, or start one here with `heliograph serve`");
    }
    failure
}

impl Asked {
    /// What is said with the command weighs more than the environment, and an address more than a profile.
    fn by(ask: &Ask) -> Result<Asked, Failure> {
        let profile = profile::open(ask.profile.as_deref())?;
        let of_profile = || profile.url().map(str::to_owned);
        let url = match (&ask.url, &ask.profile) {
            (Some(url), _) => Some(url.clone()),
            (None, Some(_)) => of_profile().or_else(|| variable("HELIOGRAPH_URL")),
            (None, None) => variable("HELIOGRAPH_URL").or_else(of_profile),
        };
        let config = Config { tries: TRIES, ..Config::default() };
        let client = Client::with(&url.unwrap_or_else(|| USUAL.to_owned()), config, Ureq::new()?)?;
        Ok(Asked { client, profile })
    }

    /// The folder of the agent's keys, held so that no other program uses it.
    fn store(&self) -> Result<FileStore, Failure> {
        FileStore::new(self.profile.keys()?).map_err(|error| match error {
            Error::Store(text) if text.contains("another program") => {
                let text = format!("{text}; stop it (perhaps `heliograph agent listen`) or use another --profile");
                Failure::from(text)
            }
            other => other.into(),
        })
    }

    /// The agent of the profile.
    pub async fn agent(&mut self) -> Result<Agent, Failure> {
        self.same_server()?;
        if !self.profile.keys()?.exists() {
            return Err(self.no_agent());
        }
        let store = self.store()?;
        if store.read("agent").await?.is_none() {
            return Err(self.no_agent());
        }
        let agent = self.client.open(store).await?;
        // A crash may have come between the keys and this note of them.
        if self.profile.did().is_none() {
            self.profile.note(self.client.base(), &agent.did())?;
        }
        Ok(agent)
    }

    /// The place for the keys of a new agent.
    pub async fn place(&self) -> Result<FileStore, Failure> {
        self.same_server()?;
        let store = self.store()?;
        match store.read("agent").await? {
            None => Ok(store),
            Some(_) => {
                let (name, did) = (&self.profile.name, self.profile.did().unwrap_or("its keys"));
                let text =
                    format!("the profile `{name}` has an agent already ({did}); name another one with --profile");
                Err(Failure::usage(text))
            }
        }
    }

    /// The key of an agent must not go to a server that did not give it.
    fn same_server(&self) -> Result<(), Failure> {
        match (self.profile.did(), self.profile.url()) {
            (Some(_), Some(url)) if url != self.client.base() => Err(Failure::usage(format!(
                "the agent of the profile `{}` is registered at {url}, and its key must not go to {}; name another \
                 profile with --profile",
                self.profile.name,
                self.client.base()
            ))),
            _ => Ok(()),
        }
    }

    fn no_agent(&self) -> Failure {
        let name = &self.profile.name;
        Failure::usage(format!("the profile `{name}` has no agent; `heliograph agent register` makes one"))
    }
}
