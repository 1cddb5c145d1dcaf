//! Who is calling. The engine says what a caller may be; the layers that hold keys decide who is one.

use std::any::Any;
use std::sync::Arc;

use crypto::api_key::is_key;
use http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::budget::public_budget;
use super::{Auth, Request, Response, Route};
use crate::actor::ActorId;
use crate::limits::{Admission, Tier};
use crate::runtime::{BoxFuture, Environment, Runtime};
use crate::{Error, Result, Timestamp};

/// The authenticated caller of a route.
#[derive(Debug, Clone)]
pub enum Caller {
    Public,
    /// Holder of an API key, or of the shared demo key (`account` is empty then).
    Key {
        account: String,
        tier: Tier,
    },
    /// What the layer that holds agents knows of one that sent the right key.
    Agent(Arc<dyn Any + Send + Sync>),
    Admin,
}

/// A request that may go on: who calls, and the state of the budget it drew on.
pub struct Admitted {
    pub caller: Caller,
    pub budget: Option<Admission>,
    /// The agent key that the caller showed.
    pub key: Option<ShownKey>,
}

/// A key that was made here, as its code shows. Whether it still stands only its actor knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeKey {
    pub actor: ActorId,
    pub secret_hash: [u8; 32],
}

/// An agent key that was right.
#[derive(Debug, Clone, Copy)]
pub struct ShownKey {
    pub secret_hash: [u8; 32],
    /// When it was looked at.
    pub checked: Timestamp,
}

impl Admitted {
    /// Somebody without an agent key.
    pub fn new(caller: Caller, budget: Option<Admission>) -> Admitted {
        Admitted { caller, budget, key: None }
    }
}

/// How callers of the routes that want this are checked.
pub struct Check {
    pub auth: Auth,
    /// From the head of a request alone: checks the key and draws on the budget. The refusal is a whole answer.
    pub admit: Admit,
}

pub type Admit = for<'a> fn(&'a dyn Runtime, &'a Route, &'a Request) -> BoxFuture<'a, Result<Admitted, Box<Response>>>;

/// What a layer does for callers that were checked.
pub trait Gate: Send + Sync {
    /// Checks again what is no longer fresh, because the body or the budget took its time; `None` where it is fresh.
    fn still<'a>(
        &'a self,
        rt: &'a dyn Runtime,
        route: &'a Route,
        request: &'a Request,
        admitted: &Admitted,
    ) -> Option<BoxFuture<'a, Result<Admitted, Box<Response>>>>;

    /// The runtime that the handler gets; `None` for the same.
    fn runtime(&self, admitted: &Admitted, rt: &Arc<dyn Runtime>) -> Option<Arc<dyn Runtime>>;

    /// The key in these headers; `None` for one that is made up.
    fn made_key(&self, environment: &Environment, headers: &HeaderMap) -> Option<MadeKey>;

    /// Work for the caller once its request is answered; `None` where there is none.
    fn afterwards(&self, rt: &Arc<dyn Runtime>, caller: &Caller) -> Option<BoxFuture<'static, ()>>;
}

/// Admits a request, or refuses it with a whole answer.
pub(super) async fn admit(rt: &dyn Runtime, route: &Route, request: &Request) -> Result<Admitted, Box<Response>> {
    let refused = |error: Error| Box::new(Response::error(error));
    match route.auth {
        Auth::None | Auth::Signed | Auth::SignedOrAdmin | Auth::SignedAdmin | Auth::Token => {
            Ok(Admitted::new(Caller::Public, public_budget(rt, route, request)?))
        }
        Auth::Admin => {
            operator(rt, request).map_err(refused)?;
            Ok(Admitted::new(Caller::Admin, None))
        }
        wanted => match rt.environment().program.checks().find(|check| check.auth == wanted) {
            Some(check) => (check.admit)(rt, route, request).await,
            None => Err(refused(Error::internal("no layer checks the key of this route"))),
        },
    }
}

/// See [`Gate::still`].
pub(super) async fn still(
    rt: &dyn Runtime,
    route: &Route,
    request: &Request,
    mut admitted: Admitted,
) -> Result<Admitted, Box<Response>> {
    for gate in rt.environment().program.gates() {
        if let Some(again) = gate.still(rt, route, request, &admitted) {
            admitted = again.await?;
        }
    }
    Ok(admitted)
}

/// Whether the operator asks, on a route that anybody may ask.
pub fn is_operator(rt: &dyn Runtime, request: &Request) -> bool {
    operator(rt, request).is_ok()
}

/// Checks `X-Admin-Key` against the operator's key; 401 without the right one.
pub fn operator(rt: &dyn Runtime, request: &Request) -> Result<()> {
    let expected = &rt.environment().secrets.admin_key;
    match request.header("x-admin-key") {
        Some(given) if is_key(given, expected) => Ok(()),
        Some(_) => Err(Error::unauthorized("The admin key is not valid.")),
        None => Err(Error::unauthorized("This route needs the header X-Admin-Key.")),
    }
}
