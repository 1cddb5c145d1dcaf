//! The core's [`Runtime`] on the edge: in the Worker's isolate, or inside an object, whose calls to itself stay local.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use heliograph_core::engine::actor::Call;
use heliograph_core::engine::apart::{self, Asker};
use heliograph_core::engine::documents::Recent;
use heliograph_core::engine::http::{Coder, Ready};
use heliograph_core::engine::runtime::{Archive, BoxFuture, ByteStream, Environment, Runtime, SharedAnswers};
use heliograph_core::engine::web::Incoming;
use heliograph_core::engine::web::Outgoing;
use heliograph_core::relay::agent::stream::OpenStream;
use heliograph_core::{Error, Result, Timestamp, engine::deployment};
use worker::Env;

use crate::coding::PlatformCoder;
use crate::kv_documents::Documents;
use crate::place_cache::PlaceCache;
use crate::space::Space;
use crate::work::Connection;
use crate::{clock, errand, web};

thread_local! {
    /// Documents that this isolate recently read from KV. Each read is a request that the operator pays for.
    static RECENT: RefCell<Recent> = RefCell::default();
}

thread_local! {
    /// Number of answers that this isolate is computing.
    static COMPUTING: Cell<u32> = const { Cell::new(0) };
}

/// A place among the answers that are computed at once; free again when it is dropped.
struct Place;

impl Place {
    fn take(most: u32) -> Result<Place> {
        match COMPUTING.get() {
            computing if computing < most => {
                COMPUTING.set(computing + 1);
                Ok(Place)
            }
            _ => Err(apart::busy()),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        COMPUTING.set(COMPUTING.get().saturating_sub(1));
    }
}

pub struct EdgeRuntime {
    env: Env,
    environment: Arc<Environment>,
    place_cache: PlaceCache,
    /// The object that this runs in; `None` in the Worker's isolate.
    home: Option<Rc<Space>>,
}

impl EdgeRuntime {
    /// The router needs a shared pointer; nothing here crosses threads.
    #[allow(clippy::arc_with_non_send_sync)]
    pub fn shared(env: Env, environment: Arc<Environment>, home: Option<Rc<Space>>) -> Arc<dyn Runtime> {
        let place_cache = PlaceCache(environment.clone());
        Arc::new(EdgeRuntime { env, environment, place_cache, home })
    }

    pub fn env(&self) -> &Env {
        &self.env
    }

    fn home_of(&self, call: &Call) -> Option<&Rc<Space>> {
        self.home.as_ref().filter(|space| *space.actor() == call.actor)
    }
}

impl Runtime for EdgeRuntime {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        Box::pin(async move {
            match self.home_of(&call) {
                Some(space) => space.perform(&call).await,
                None => errand::call(&self.env, &call).await,
            }
        })
    }

    fn query(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        Box::pin(async move {
            match self.home_of(&call) {
                Some(space) => space.answer(&call),
                None => errand::query(&self.env, &call).await,
            }
        })
    }

    /// An isolate has one thread, on which all work takes turns while it waits for objects. So the limit is the number
    /// of answers that are in memory while they are made.
    fn apart<'a>(&'a self, asker: &'a Asker, work: BoxFuture<'static, ()>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let _place = match asker.begun {
                true => None,
                false => Some(Place::take(self.environment.settings.computing_queue)?),
            };
            work.await;
            Ok(())
        })
    }

    fn document<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Arc<Ready>>>> {
        Box::pin(async move {
            let (now, interval) = (clock::now(), self.environment.settings.publish_interval);
            if let Some(document) = RECENT.with_borrow(|recent| recent.get(key, now, interval)) {
                return Ok(Some(document));
            }
            let document = Documents::new(&self.env)?.get(key).await?.map(|document| Arc::new(Ready::from(document)));
            if let Some(document) = &document {
                RECENT.with_borrow_mut(|recent| recent.keep(key, document.clone(), now));
            }
            Ok(document)
        })
    }

    /// The router runs routes that open streams in the agent's own object.
    fn stream(&self, open: OpenStream) -> BoxFuture<'_, Result<ByteStream>> {
        let stream = match &self.home {
            Some(space) if space.actor().name == open.agent => Ok(space.events(open)),
            _ => Err(Error::internal("a stream was asked for outside its agent's object")),
        };
        Box::pin(std::future::ready(stream))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(clock::sleep(duration))
    }

    /// The platform lets a Worker reach no private network.
    fn fetch(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<Incoming>> {
        Box::pin(async move {
            let _connection = match &self.home {
                Some(space) => Some(Connection::open(space).await),
                None => None,
            };
            web::send(outgoing).await
        })
    }

    fn coder(&self) -> Option<&dyn Coder> {
        Some(&PlatformCoder)
    }

    fn archive(&self) -> Option<&dyn Archive> {
        Some(self)
    }

    fn shared_answers(&self) -> Option<&dyn SharedAnswers> {
        Some(&self.place_cache)
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn random(&self) -> [u8; 32] {
        clock::random()
    }

    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn write_check(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { errand::write_check(&self.env, &deployment::actor()).await })
    }
}
