//! A request that one part of a deployment hands on to another. What was decided from its head goes with it, so the
//! route is looked up once, and the form of its key is checked once.

use std::borrow::Cow;
use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::{Deserialize, Serialize};

use super::router::{self, Matched};
use super::{MadeKey, Request};
use crate::actor::{decode, encode};
use crate::program::Program;
use crate::{Error, Result};

#[derive(Serialize, Deserialize)]
struct HandedOn<'a> {
    method: Cow<'a, str>,
    /// Path of the route in the table of routes. Two versions of the program may number their routes differently.
    route: Cow<'a, str>,
    params: Vec<Cow<'a, str>>,
    path: Cow<'a, str>,
    query: Cow<'a, str>,
    headers: Vec<(Cow<'a, str>, Cow<'a, [u8]>)>,
    client: Option<IpAddr>,
    forwarded: bool,
    network: Option<u32>,
    key: Option<MadeKey>,
}

impl Matched {
    /// The bytes that [`handed_on`] reads. The body does not go with them.
    pub fn hand_on(&self, request: &Request) -> Result<Vec<u8>> {
        let headers = request.headers.iter().map(|(name, value)| (name.as_str().into(), value.as_bytes().into()));
        encode(&HandedOn {
            method: request.method.as_str().into(),
            route: self.path().into(),
            params: self.values().map(Cow::from).collect(),
            path: (&request.path).into(),
            query: (&request.query).into(),
            headers: headers.collect(),
            client: request.client,
            forwarded: request.forwarded,
            network: request.network,
            key: request.key.clone(),
        })
    }
}

/// A request that was handed on, without its body. The bytes must come from [`Matched::hand_on`] of the same
/// deployment, because the key in them is not checked again.
pub fn handed_on(program: &'static Program, bytes: &[u8]) -> Result<(Matched, Request)> {
    let unreadable = || Error::internal("a request was handed on that cannot be read");
    let HandedOn { method, route, params, path, query, headers, client, forwarded, network, key } = decode(bytes)?;
    let (path, query) = (path.into_owned(), query.into_owned());
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| unreadable())?;
    let params = params.into_iter().map(Cow::into_owned).collect();
    let matched = router::named(program, &method, &route, params).ok_or_else(unreadable)?;
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unreadable())?;
        map.append(name, HeaderValue::from_bytes(&value).map_err(|_| unreadable())?);
    }
    let request =
        Request { method, path, query, headers: map, body: bytes::Bytes::new(), client, forwarded, network, key };
    Ok((matched, request))
}
