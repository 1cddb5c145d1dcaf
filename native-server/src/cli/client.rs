//! The place where a command works: on the data file in this process, or at a running server.
//!
//! Both get the same requests, so that a command is written once, against the operator's routes.

use std::io::{Read, Write};
use std::path::Path;

use bytes::Bytes;
use futures_util::StreamExt;
use heliograph_core::engine::http::{self as routes, Body};
use heliograph_core::engine::runtime::Runtime;
use http::{HeaderMap, HeaderValue, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::args::Common;
use crate::files::{self, Tried};
use crate::keyfile;
use crate::server::Deployment;
use crate::store::Options;
use crate::trust;

/// Largest JSON answer that is read.
const MAX_ANSWER: u64 = 64 << 20;
/// Bytes of a file that are read at once.
const AT_ONCE: usize = 64 << 10;

pub struct Client {
    place: Backend,
    admin_key: String,
}

/// Where the requests go: to a deployment in this process, or to a server.
enum Backend {
    Here { runtime: tokio::runtime::Runtime, deployment: Deployment },
    There { base: String, agent: ureq::Agent },
}

/// An answer with its JSON body.
pub struct JsonAnswer {
    pub status: u16,
    pub body: Value,
}

impl JsonAnswer {
    /// The body, or the error that it states.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, String> {
        if self.status >= 300 {
            return Err(explain(self.status, &self.body));
        }
        serde_json::from_value(self.body).map_err(|error| format!("the answer is of another version: {error}"))
    }
}

fn explain(status: u16, body: &Value) -> String {
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    match status {
        401 => "the operator key was refused; give it with --admin-key or HELIOGRAPH_ADMIN_KEY (it is in the key file \
                beside the server's data file)"
            .to_owned(),
        _ => format!("{status} {}: {}", text("error"), text("message")),
    }
}

impl Client {
    /// Opens the data file, or prepares requests to the server named by `--to`. Without `create` the file must exist.
    pub fn open(common: &Common, create: bool) -> Result<Client, String> {
        match &common.to {
            Some(url) => Client::there(common, url),
            None => Client::here(common, create, false),
        }
    }

    /// The same for reading only: the data file stays unchanged to the byte, and may be one that cannot be written.
    pub fn open_looking(common: &Common) -> Result<Client, String> {
        match &common.to {
            Some(url) => Client::there(common, url),
            None => {
                Client::with(common, true, Options { must_exist: true, looking: true, ..Options::new(&common.data) })
            }
        }
    }

    /// The same with a data file that is closed for changes while it is moved. A server must run with the setting
    /// `closed`.
    pub fn open_closed(common: &Common, create: bool) -> Result<Client, String> {
        match &common.to {
            Some(url) => Client::there(common, url),
            None => Client::here(common, create, true),
        }
    }

    /// Prepares for requests that need no operator key.
    pub fn open_public(common: &Common) -> Result<Client, String> {
        match &common.to {
            Some(url) => Client::public(url),
            None => Client::here(common, false, false),
        }
    }

    /// Prepares requests that anybody may make to the server at `url`.
    pub fn public(url: &str) -> Result<Client, String> {
        Client::at(address("--to", url)?, String::new())
    }

    fn here(common: &Common, create: bool, closed: bool) -> Result<Client, String> {
        Client::with(common, closed, Options { must_exist: !create, ..Options::new(&common.data) })
    }

    fn with(common: &Common, closed: bool, options: Options) -> Result<Client, String> {
        let mut settings = common.config()?.settings;
        settings.closed |= closed;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let deployment = runtime.block_on(Deployment::open(settings, Options { alone: true, ..options }))?;
        let admin_key = deployment.native().environment().secrets.admin_key.clone();
        Ok(Client { place: Backend::Here { runtime, deployment }, admin_key })
    }

    fn there(common: &Common, url: &str) -> Result<Client, String> {
        let base = address("--to", url)?;
        let admin_key = match common.config()?.settings.admin_key {
            key if !key.is_empty() => key,
            _ => keyfile::read(&common.data).map(|keys| keys.admin_key).map_err(|error| {
                format!(
                    "--to needs the operator key: give it with --admin-key or HELIOGRAPH_ADMIN_KEY, or name the server's \
                     data file with --data ({error})"
                )
            })?,
        };
        Client::at(base, admin_key)
    }

    fn at(base: String, admin_key: String) -> Result<Client, String> {
        let config = ureq::Agent::config_builder().http_status_as_error(false).tls_config(trust::tls()?);
        Ok(Client { place: Backend::There { base, agent: config.build().new_agent() }, admin_key })
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        self.request(Method::GET, path, Bytes::new())?.read()
    }

    pub fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        self.request(Method::DELETE, path, Bytes::new())?.read()
    }

    pub fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, String> {
        let body = serde_json::to_vec(body).map_err(|error| error.to_string())?;
        self.request(Method::PATCH, path, body.into())?.read()
    }

    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, String> {
        let body = serde_json::to_vec(body).map_err(|error| error.to_string())?;
        self.request(Method::POST, path, body.into())?.read()
    }

    /// Sends a request and reads its JSON answer. `path` may have a query.
    pub fn request(&self, method: Method, path: &str, body: Bytes) -> Result<JsonAnswer, String> {
        match &self.place {
            Backend::Here { runtime, .. } => {
                let response = runtime.block_on(routes::serve(self.runtime()?, self.local(method, path, body)?));
                if let Some(cause) = &response.cause {
                    eprintln!("error: {cause}");
                }
                let status = response.status.as_u16();
                match response.body {
                    Body::Bytes(bytes) => answer(status, &bytes),
                    Body::Stream(_) => Err("the answer is not JSON".to_owned()),
                }
            }
            Backend::There { .. } => {
                let mut response = self.remote(method, path, body)?;
                let status = response.status().as_u16();
                let bytes = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
                answer(status, &bytes.map_err(|error| error.to_string())?)
            }
        }
    }

    /// Writes the body of a GET to a new file; an incomplete file is removed again. Returns its length.
    pub fn download(&self, path: &str, file: &Path) -> Result<u64, String> {
        let refuse = |error: std::io::Error| Tried::Write.cannot(file, &error);
        let mut target = files::create_new(file).map_err(refuse)?;
        let copied = self.copy(path, &mut target, &refuse);
        let copied = copied.and_then(|bytes| target.sync_all().map(|()| bytes).map_err(refuse));
        if copied.is_err() {
            // The caller gets the first error, not one of this removal.
            let _ = std::fs::remove_file(file);
        }
        copied
    }

    fn copy(
        &self,
        path: &str,
        target: &mut dyn Write,
        refuse: &dyn Fn(std::io::Error) -> String,
    ) -> Result<u64, String> {
        match &self.place {
            Backend::Here { runtime, .. } => {
                let request = self.local(Method::GET, path, Bytes::new())?;
                let rt = self.runtime()?;
                runtime.block_on(async {
                    let response = routes::serve(rt, request).await;
                    let stated = length(&response.headers);
                    let status = response.status.as_u16();
                    let mut pieces = match response.body {
                        Body::Stream(pieces) => pieces,
                        Body::Bytes(bytes) => {
                            return Err(answer(status, &bytes).map_or_else(|e| e, |a| explain(status, &a.body)));
                        }
                    };
                    let mut bytes = 0;
                    while let Some(piece) = pieces.next().await {
                        target.write_all(&piece).map_err(refuse)?;
                        bytes += piece.len() as u64;
                    }
                    whole(bytes, stated)
                })
            }
            Backend::There { .. } => {
                let mut response = self.remote(Method::GET, path, Bytes::new())?;
                let status = response.status().as_u16();
                let stated = length(response.headers());
                let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
                if status >= 300 {
                    let mut bytes = Vec::new();
                    body.take(MAX_ANSWER).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
                    return Err(explain(status, &answer(status, &bytes)?.body));
                }
                let mut piece = vec![0; AT_ONCE];
                let mut bytes = 0;
                loop {
                    let read = body
                        .read(&mut piece)
                        .map_err(|error| format!("the transfer broke off after {bytes} bytes: {error}; try again"))?;
                    if read == 0 {
                        return whole(bytes, stated);
                    }
                    target.write_all(piece.get(..read).unwrap_or_default()).map_err(refuse)?;
                    bytes += read as u64;
                }
            }
        }
    }

    /// The deployment in this process and the runtime that drives it; `None` with `--to`.
    pub fn deployment(&self) -> Option<(&tokio::runtime::Runtime, std::sync::Arc<dyn Runtime>)> {
        match &self.place {
            Backend::Here { runtime, deployment } => Some((runtime, deployment.native().clone())),
            Backend::There { .. } => None,
        }
    }

    fn runtime(&self) -> Result<std::sync::Arc<dyn Runtime>, String> {
        match &self.place {
            Backend::Here { deployment, .. } => Ok(deployment.native().clone()),
            Backend::There { .. } => Err("this command works on a data file only".to_owned()),
        }
    }

    fn local(&self, method: Method, path: &str, body: Bytes) -> Result<routes::Request, String> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut headers = HeaderMap::new();
        let key = HeaderValue::from_str(&self.admin_key).map_err(|_| "the operator key cannot stand in a header")?;
        headers.insert("x-admin-key", key);
        let (path, query) = (path.to_owned(), query.to_owned());
        Ok(routes::Request { method, path, query, headers, body, ..routes::Request::default() })
    }

    fn remote(&self, method: Method, path: &str, body: Bytes) -> Result<http::Response<ureq::Body>, String> {
        let Backend::There { base, agent } = &self.place else { return Err("no server was named".to_owned()) };
        let request = http::Request::builder().method(method).uri(format!("{base}{path}"));
        let request = match self.admin_key.as_str() {
            "" => request,
            key => request.header("x-admin-key", key),
        };
        let sent = match body.is_empty() {
            true => request.body(()).map_err(|error| error.to_string()).map(|request| agent.run(request)),
            false => request.body(&body[..]).map_err(|error| error.to_string()).map(|request| agent.run(request)),
        };
        sent?.map_err(|error| format!("{base}: {}", trust::explained(&error)))
    }
}

/// The address of a server, without a slash at the end. `flag` names it in the error.
pub fn address(flag: &str, url: &str) -> Result<String, String> {
    let base = url.trim_end_matches('/');
    match base.starts_with("http://") || base.starts_with("https://") {
        true => Ok(base.to_owned()),
        false => Err(format!("{flag} takes an address such as http://127.0.0.1:8787, not {url:?}")),
    }
}

fn answer(status: u16, bytes: &[u8]) -> Result<JsonAnswer, String> {
    let body = serde_json::from_slice(bytes).map_err(|_| format!("the answer ({status}) is not JSON"))?;
    Ok(JsonAnswer { status, body })
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn whole(bytes: u64, stated: Option<u64>) -> Result<u64, String> {
    match stated {
        Some(stated) if stated != bytes => Err(format!("the transfer ended after {bytes} of {stated} bytes")),
        _ => Ok(bytes),
    }
}
