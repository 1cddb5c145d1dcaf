//! The only Durable Object class. Every actor is one of its objects, with the name `kind/name`. A golden test pins the
//! names, because the name of an object decides where its state is.

use std::cell::OnceCell;
use std::rc::Rc;

use heliograph_core::Error;
use heliograph_core::app::PROGRAM;
use heliograph_core::engine::actor::{ActorId, Call, Delivery, Kind, decode};
use heliograph_core::engine::http as routes;
use heliograph_core::engine::runtime;
use heliograph_core::relay::agent::stream::OpenStream;
use worker::{
    DurableObject, Env, Request, Response, Result, State, Url, WebSocket, WebSocketIncomingMessage, durable_object,
};

use crate::errand::{self, CALL, CLIENT, DELIVER, ERRAND, HEAD, OPEN, QUERY, REACH, SOCKET, WRITE_CHECK};
use crate::runtime::EdgeRuntime;
use crate::space::Space;
use crate::sqlite::Sqlite;
use crate::{environment, shell, sockets, work};

#[durable_object]
pub struct Actor {
    state: Rc<State>,
    env: Env,
    space: OnceCell<Rc<Space>>,
}

impl DurableObject for Actor {
    /// Touches no storage: an object that is only read must stay without storage (decision
    /// invented-names-leave-nothing).
    fn new(state: State, env: Env) -> Self {
        Actor { state: Rc::new(state), env, space: OnceCell::new() }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        if is_errand(&request.url()?, REACH) {
            return self.reach(&request.bytes().await?).await;
        }
        let space = self.space()?;
        space.work.event_began();
        space.settle().await;
        let url = request.url()?;
        match (url.host_str(), url.path()) {
            (Some(ERRAND), CLIENT) => client(&space, request).await,
            (Some(ERRAND), SOCKET) => socket(&space, &request),
            (Some(ERRAND), path) => {
                let body = request.bytes().await?;
                errand(&space, path, &body).await
            }
            #[cfg(feature = "test-routes")]
            (Some(crate::test_routes::HOST), _) => crate::test_routes::object_fetch(&space, request).await,
            _ => Response::error("no such errand", 404),
        }
    }

    /// Never fails: the platform gives up an alarm after six failures, but the rows would still be due.
    async fn alarm(&self) -> Result<Response> {
        match self.space() {
            Ok(space) => {
                space.work.event_began();
                space.alarm_fired();
                work::alarm(&space).await;
            }
            Err(error) => worker::console_error!("an alarm of an object that cannot be named: {error}"),
        }
        Response::empty()
    }

    /// Frames that a client sends after its key are ignored.
    async fn websocket_message(&self, _socket: WebSocket, _message: WebSocketIncomingMessage) -> Result<()> {
        Ok(())
    }

    async fn websocket_close(&self, socket: WebSocket, code: usize, _reason: String, _clean: bool) -> Result<()> {
        self.space()?.socket_closed(&socket);
        sockets::answer_close(&socket, code);
        Ok(())
    }

    async fn websocket_error(&self, socket: WebSocket, _error: worker::Error) -> Result<()> {
        self.space()?.socket_closed(&socket);
        Ok(())
    }
}

fn is_errand(url: &Url, errand: &str) -> bool {
    url.host_str() == Some(ERRAND) && url.path() == errand
}

impl Actor {
    /// Makes a request to another host on behalf of another object ([`errand::reach`]). If anything fails, that
    /// object's timer asks again.
    async fn reach(&self, body: &[u8]) -> Result<Response> {
        let refused = |error: Error| worker::Error::RustError(error.to_string());
        let (actor, key): (ActorId, String) = decode(body).map_err(refused)?;
        let environment = environment::started(&self.env).await.map_err(refused)?;
        let runtime = EdgeRuntime::shared(self.env.clone(), environment, None);
        self.state.wait_until(async move {
            if let Err(error) = runtime::reach_out(runtime, &actor, &key).await {
                worker::console_error!("{actor}: a delivery is tried again later: {error}");
            }
        });
        errand::answer(&()).map_err(refused)
    }

    /// The space of the actor of this object. The object's name tells the actor; after a start by an alarm only its
    /// database may have the name.
    fn space(&self) -> Result<Rc<Space>> {
        if let Some(space) = self.space.get() {
            return Ok(space.clone());
        }
        let sqlite = Sqlite::new(self.state.storage());
        let name = match self.state.id().name() {
            Some(name) => Some(name),
            None => sqlite.stored_name().map_err(|error| error.to_string())?,
        };
        let actor = name.as_deref().and_then(ActorId::parse).ok_or("an object without the name of an actor")?;
        sqlite.set_name(&actor.to_string());
        let space = Space::new(self.state.clone(), self.env.clone(), sqlite, actor);
        Ok(self.space.get_or_init(|| space).clone())
    }
}

async fn errand(space: &Rc<Space>, errand: &str, body: &[u8]) -> Result<Response> {
    let response = match errand {
        CALL => errand::answer(&match own_call(space, body) {
            Ok(call) => space.perform(&call).await,
            Err(error) => Err(error),
        }),
        QUERY => errand::answer(&own_call(space, body).and_then(|call| space.answer(&call))),
        DELIVER => decode::<Delivery>(body).and_then(|delivery| errand::answer(&space.receive(&delivery))),
        WRITE_CHECK => errand::answer(&space.rows().write_check().map_err(Error::from)),
        _ => return Response::error("no such errand", 404),
    };
    response.map_err(|error| worker::Error::RustError(error.to_string()))
}

fn own_call(space: &Space, body: &[u8]) -> heliograph_core::Result<Call> {
    let call: Call = decode(body)?;
    match call.actor == *space.actor() {
        true => Ok(call),
        false => Err(Error::internal(format!("a call for {} reached {}", call.actor, space.actor()))),
    }
}

/// A whole request of the agent of this object, which the Worker handed on (decision hops-of-a-route).
async fn client(space: &Rc<Space>, mut request: Request) -> Result<Response> {
    let environment = match environment::started(&space.env).await {
        Ok(environment) => environment,
        Err(error) => return shell::response(shell::logged("start", routes::refusal(error))),
    };
    let head = errand::bytes_in(&request, HEAD).and_then(|head| routes::handed_on(&PROGRAM, &head));
    let (matched, asked) = head.map_err(|error| worker::Error::RustError(error.to_string()))?;
    let route = format!("{} {}", asked.method, asked.path);
    let runtime = EdgeRuntime::shared(space.env.clone(), environment, Some(space.clone()));
    let response = shell::answer(runtime, matched, asked, &mut request).await;
    if space.actor().kind == Kind::Agent {
        work::usage_changed(space);
    }
    shell::response(shell::logged(&route, response))
}

/// Opens a WebSocket for a client whose key the Worker has checked.
fn socket(space: &Rc<Space>, request: &Request) -> Result<Response> {
    let open: OpenStream = errand::bytes_in(request, OPEN)
        .and_then(|bytes| decode(&bytes))
        .map_err(|error| worker::Error::RustError(error.to_string()))?;
    Response::from_websocket(space.socket(open)?)
}
