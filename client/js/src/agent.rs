//! Agents: messages, memory, other routes.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use heliograph_client::http::Method;
use heliograph_client::relay::Choices;
use heliograph_client::{Agent as Inner, Draft, Filter, Listener as Stream};
use js_sys::Promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use crate::convert::{Answer, argument, error, promise, value};

#[wasm_bindgen]
pub struct Agent(pub(crate) Inner);

#[wasm_bindgen]
impl Agent {
    #[wasm_bindgen(getter)]
    pub fn did(&self) -> String {
        self.0.did()
    }

    #[wasm_bindgen(js_name = apiKey)]
    pub fn api_key(&self) -> String {
        self.0.api_key().expose().to_owned()
    }

    pub fn send(&self, to: String, text: String, how: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let draft = Draft::chosen(&to, &text, &argument::<Choices>(&how)?);
            value(&inner.send(&draft).await.map_err(error)?)
        })
    }

    pub fn receive(&self, which: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let filter: Filter = argument(&which)?;
            value(&inner.receive(&filter).await.map_err(error)?)
        })
    }

    #[wasm_bindgen(js_name = markRead)]
    pub fn mark_read(&self, ids: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let ids: Vec<String> = argument(&ids)?;
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            value(&inner.mark_read(&ids).await.map_err(error)?)
        })
    }

    pub fn listen(&self, from: Option<String>, since: Option<String>) -> Result<Listener, JsValue> {
        let stream = self.0.listen(from.as_deref(), since.as_deref()).map_err(error)?;
        Ok(Listener(Rc::new(RefCell::new(Listening { stream: Some(stream), ..Listening::default() }))))
    }

    #[wasm_bindgen(js_name = rotateKeys)]
    pub fn rotate_keys(&self) -> Promise {
        let inner = self.0.clone();
        promise(async move { value(&inner.rotate_keys().await.map_err(error)?) })
    }

    #[wasm_bindgen(js_name = publishPrekeys)]
    pub fn publish_prekeys(&self, count: usize) -> Promise {
        let inner = self.0.clone();
        promise(async move { value(&inner.publish_prekeys(count).await.map_err(error)?) })
    }

    pub fn remember(&self, namespace: String, name: String, stored: JsValue, ttl: Option<u32>) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let stored: Value = argument(&stored)?;
            value(&inner.remember(&namespace, &name, &stored, ttl).await.map_err(error)?)
        })
    }

    pub fn recall(&self, namespace: String, name: String) -> Promise {
        let inner = self.0.clone();
        promise(async move { value(&inner.recall(&namespace, &name).await.map_err(error)?) })
    }

    pub fn request(&self, method: String, path: String, body: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let method = Method::of(&method).ok_or_else(|| js_sys::TypeError::new("the method is not one of HTTP"))?;
            let body: Option<Value> = argument(&body)?;
            value(&inner.request(method, &path, body.as_ref()).await.map_err(error)?)
        })
    }
}

#[derive(Default)]
struct Listening {
    stream: Option<Stream>,
    closed: bool,
    /// Of the call of `next` that waits.
    waiting: Option<Waker>,
}

#[wasm_bindgen]
pub struct Listener(Rc<RefCell<Listening>>);

#[wasm_bindgen]
impl Listener {
    /// The next message; `undefined` after `close`, or while another call waits.
    pub async fn next(&self) -> Answer {
        let taken = self.0.borrow_mut().stream.take();
        let Some(mut stream) = taken else { return Ok(JsValue::UNDEFINED) };
        let next = {
            let mut next = pin!(stream.next());
            poll_fn(|context| {
                {
                    let mut listening = self.0.borrow_mut();
                    if listening.closed {
                        return Poll::Ready(None);
                    }
                    listening.waiting = Some(context.waker().clone());
                }
                next.as_mut().poll(context).map(Some)
            })
            .await
        };
        let mut listening = self.0.borrow_mut();
        if !listening.closed {
            listening.stream = Some(stream);
        }
        match next {
            Some(next) => value(&next.map_err(error)?),
            None => Ok(JsValue::UNDEFINED),
        }
    }

    /// Ends the connection, and a call of `next` that waits.
    pub fn close(&self) {
        let (stream, waiting) = {
            let mut listening = self.0.borrow_mut();
            listening.closed = true;
            (listening.stream.take(), listening.waiting.take())
        };
        drop(stream);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}
