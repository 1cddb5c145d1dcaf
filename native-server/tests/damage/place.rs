//! A server in this process.

use std::path::Path;
use std::sync::Arc;

use heliograph::server::Deployment;
use heliograph::store::{Options, Store};
use heliograph_core::engine::runtime::{Damage, Runtime as _, Scrub};
use heliograph_core::engine::settings::Settings;
use heliograph_tests::client::Client;
use heliograph_tests::target::ADMIN_KEY;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub struct TestServer {
    deployment: Deployment,
    runtime: Arc<Runtime>,
    base: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

pub fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.publish_interval = 0;
    settings.admin_key = ADMIN_KEY.to_owned();
    settings.first_party_services = false;
    // Nearly no page cache, so that answers are read from the file.
    settings.cache_bytes = 1 << 16;
    settings.answer_cache_bytes = 0;
    settings
}

pub fn runtime() -> Arc<Runtime> {
    Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap())
}

impl TestServer {
    pub fn open(runtime: &Arc<Runtime>, data: &Path) -> Result<TestServer, String> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (deployment, base, serving) = runtime.block_on(async {
            let deployment = Deployment::open(settings(), Options::new(data)).await?;
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let base = format!("http://{}", listener.local_addr().unwrap());
            let shutdown = async move { drop(stopped.await) };
            let serving =
                tokio::spawn(heliograph::serve::run((listener, false), deployment.native().clone(), 1_000, shutdown));
            Ok::<_, String>((deployment, base, serving))
        })?;
        Ok(TestServer { deployment, runtime: runtime.clone(), base, stop, serving })
    }

    pub fn client(&self) -> Client {
        Client::http(&self.base)
    }

    pub fn scrub(&self) -> Scrub {
        let native = self.deployment.native().clone();
        self.runtime.block_on(async move { native.maintenance().unwrap().scrub().await }).unwrap()
    }

    pub fn close(self) {
        self.stop.send(()).unwrap();
        self.runtime.block_on(async {
            self.serving.await.unwrap();
            self.deployment.close().await;
        });
    }
}

/// Runs the check of `db check` on a file.
pub fn check(data: &Path) -> Result<Scrub, String> {
    let options = Options { must_exist: true, looking: true, ..Options::new(data) };
    let store = Store::open(options).map_err(|error| error.to_string())?;
    heliograph::store::scrub(&store, &|_| {}).map_err(|error| error.to_string())
}

/// The pages that hold the tables of a file.
pub fn pages(data: &Path) -> Vec<Damage> {
    let options = Options { must_exist: true, looking: true, ..Options::new(data) };
    heliograph::store::pages_in_use(&Store::open(options).unwrap()).unwrap()
}
