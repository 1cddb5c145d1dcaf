//! The one Durable Object class. Every actor is an object of it, named `kind/name`; names are pinned by a golden test
//! because an object's name decides where its state lives.

use std::cell::RefCell;

use futures_channel::mpsc::UnboundedSender;
use worker::{
    DurableObject, Env, Request, Response, Result, State, WebSocket, WebSocketIncomingMessage, durable_object, js_sys,
};

use crate::probe;
use crate::sqlite::Sqlite;

#[durable_object]
pub struct Actor {
    pub(crate) state: State,
    pub(crate) env: Env,
    pub(crate) sqlite: Sqlite,
    /// Wakes the streams that are open on this object. A stream whose client left is dropped at the next wake-up.
    pub(crate) streams: RefCell<Vec<UnboundedSender<()>>>,
}

impl DurableObject for Actor {
    /// Touches nothing: an object that is only looked at must stay without storage (ruling foundation 5).
    fn new(state: State, env: Env) -> Self {
        let sqlite = Sqlite::new(state.storage());
        Actor { state, env, sqlite, streams: RefCell::new(Vec::new()) }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        if probe::enabled(&self.env) {
            return probe::object_fetch(self, request).await;
        }
        Response::error("no such operation", 404)
    }

    async fn alarm(&self) -> Result<Response> {
        if probe::enabled(&self.env) {
            probe::object_alarm(self)?;
        }
        Response::empty()
    }

    async fn websocket_message(&self, socket: WebSocket, message: WebSocketIncomingMessage) -> Result<()> {
        if probe::enabled(&self.env) {
            probe::object_message(&socket, message)?;
        }
        Ok(())
    }

    async fn websocket_close(&self, _socket: WebSocket, _code: usize, _reason: String, _clean: bool) -> Result<()> {
        Ok(())
    }

    async fn websocket_error(&self, _socket: WebSocket, _error: worker::Error) -> Result<()> {
        Ok(())
    }
}

impl Actor {
    /// The name the object was reached by, `kind/name`.
    pub(crate) fn name(&self) -> Option<String> {
        self.state.id().name()
    }

    /// Sets the object's single alarm, in milliseconds since the Unix epoch. Nothing is awaited: the runtime groups
    /// the alarm with the writes of the same turn, so both become durable together (ruling foundation 17).
    pub(crate) fn set_alarm(&self, unix_millis: f64) -> Result<()> {
        let date = js_sys::Date::new(&unix_millis.into());
        let _durable = self.state.storage().as_raw().set_alarm(date, js_sys::Object::new())?;
        Ok(())
    }

    /// Wakes every open stream.
    pub(crate) fn wake_streams(&self) {
        self.streams.borrow_mut().retain(|stream| stream.unbounded_send(()).is_ok());
    }
}
