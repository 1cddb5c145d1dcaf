//! A deployment, as a client sees it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::call::Call;
use super::transport::{Method, Transport};
use crate::{Error, Result};

/// What stands for itself in a segment of a path.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

/// How requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How long one try may take.
    pub timeout: Duration,
    /// Most tries of a request that can be repeated without doing something twice; at least 1.
    pub tries: u32,
    /// The longest time that the service may ask to wait before a try; it is an error to wait longer.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config { timeout: Duration::from_secs(30), tries: 4, patience: Duration::from_secs(60) }
    }
}

/// Which deployment this is: part of the texts that agents sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// The word in DIDs and schemas.
    pub brand: String,
    /// Tells deployments apart.
    pub id: String,
}

/// A connection to one deployment. Clones share it.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub base: String,
    pub config: Config,
    pub transport: Box<dyn Transport>,
    deployment: Mutex<Option<Deployment>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.inner.base).field("config", &self.inner.config).finish()
    }
}

impl Client {
    /// A client of the deployment at this address, such as `https://relay.example`.
    ///
    /// Errors: [`Error::Usage`] if the address is not http or https.
    #[cfg(any(target_arch = "wasm32", feature = "requests"))]
    pub fn new(base: &str) -> Result<Client> {
        Client::with(base, Config::default(), super::DefaultTransport::new()?)
    }

    /// A client with settings and a transport of its own.
    pub fn with(base: &str, config: Config, transport: impl Transport + 'static) -> Result<Client> {
        if !base.starts_with("https://") && !base.starts_with("http://") {
            return Err(Error::usage(format!("`{base}` is no address: it must begin with https:// or http://")));
        }
        let base = base.trim_end_matches('/').to_owned();
        let deployment = Mutex::new(None);
        Ok(Client { inner: Arc::new(Inner { base, config, transport: Box::new(transport), deployment }) })
    }

    /// The address, without a slash at its end.
    pub fn base(&self) -> &str {
        &self.inner.base
    }

    pub(crate) fn call(&self, method: Method, segments: &[&str]) -> Call<'_> {
        let mut path = String::new();
        for segment in segments {
            path.push('/');
            path.extend(utf8_percent_encode(segment, KEPT));
        }
        Call::new(self, method, path)
    }

    /// A call of a path under `/v1/agent`.
    pub(crate) fn agent(&self, method: Method, segments: &[&str]) -> Call<'_> {
        self.call(method, &[&["v1", "agent"], segments].concat())
    }

    /// A call of a path under `/v1/pay`.
    pub(crate) fn pay(&self, method: Method, segments: &[&str]) -> Call<'_> {
        self.call(method, &[&["v1", "pay"], segments].concat())
    }

    /// Any other route: a request without a key. `path` is sent as it is, with its query.
    ///
    /// Only a GET is tried again.
    pub async fn get(&self, path: &str) -> Result<serde_json::Value> {
        Call::new(self, Method::Get, path.to_owned()).send().await
    }

    /// Any other route that takes a body and needs no key. It is sent once.
    pub async fn post(&self, path: &str, body: &serde_json::Value) -> Result<serde_json::Value> {
        Call::new(self, Method::Post, path.to_owned()).json(body).send().await
    }

    /// Which deployment this is; asked once.
    pub async fn deployment(&self) -> Result<Deployment> {
        if let Some(known) = self.inner.deployment.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Ok(known);
        }
        #[derive(Deserialize)]
        struct Info {
            deployment_id: String,
            relay: About,
        }
        #[derive(Deserialize)]
        struct About {
            identity_format: String,
        }
        let info: Info = self.call(Method::Get, &["v1", "relay", "info"]).send().await?;
        let brand = info.relay.identity_format.split(':').nth(1).unwrap_or_default();
        if brand.is_empty() {
            return Err(Error::Answer("the relay does not say the form of its DIDs".to_owned()));
        }
        let deployment = Deployment { brand: brand.to_owned(), id: info.deployment_id };
        *self.inner.deployment.lock().unwrap_or_else(PoisonError::into_inner) = Some(deployment.clone());
        Ok(deployment)
    }
}
