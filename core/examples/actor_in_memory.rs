//! An operation and a query on an actor in memory. `cargo run -p heliograph-core --example actor_in_memory`

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::actor::host::{self, Space};
use heliograph_core::engine::actor::{ActorId, Call, Kind, decode};
use heliograph_core::engine::kv::{MemoryStore, Store};
use heliograph_core::engine::roster::{Enrol, Listed};
use heliograph_core::engine::settings::Settings;
use heliograph_core::{Result, Timestamp};

fn main() -> Result<()> {
    let (actor, settings) = (ActorId::sole(Kind::Deployment), Settings::default());
    let mut store = MemoryStore::default();
    let run = |store: &MemoryStore, call: &Call| {
        host::perform(
            &Space {
                program: &PROGRAM,
                actor: &actor,
                rows: store,
                now: Timestamp(0),
                seed: [0; 32],
                settings: &settings,
            },
            call,
        )
    };
    // An operation returns a reply and a batch; nothing has happened until the batch is applied.
    let countries = ["KE", "IR"].map(|code| ActorId::new(Kind::Country, code)).into();
    let outcome = run(&store, &Call::operation(actor.name.clone(), &Enrol { actors: countries })?);
    outcome.reply?;
    store.apply(outcome.batch).map_err(heliograph_core::Error::internal)?;
    let reply = run(&store, &Call::query(actor.name.clone(), &Listed { after: None, limit: 10 })?).reply?;
    println!("{:?}", decode::<Vec<ActorId>>(&reply)?);
    Ok(())
}
