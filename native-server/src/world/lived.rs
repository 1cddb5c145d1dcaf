//! Puts a world through a real deployment: imports its sessions like any others, and asks for the answers.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heliograph_core::Timestamp;
use heliograph_core::engine::actor::{ActorId, Kind};
use heliograph_core::engine::runtime::{self, Runtime};
use heliograph_core::engine::settings::Settings;
use heliograph_core::engine::time::{DAY, HOUR};
use heliograph_core::intelligence::country::{MomentVerdict, ReadCourse};
use heliograph_core::intelligence::import::{Batch, ImportKind, Importer, MAX_CHUNK, Options};
use heliograph_core::intelligence::world::SendPriors;
use tokio::task::JoinSet;

use super::made::{HOURS, World};
use super::told;
use crate::clock;
use crate::server::Deployment;
use crate::store;

/// Hours between two checks.
pub const CHECK: usize = 6;
/// Measurements stored together.
const TOGETHER: usize = 400_000;
/// A deployment is at rest when it has had nothing to do for so many microseconds: everything that follows from
/// measurements begins sooner.
const REST: i64 = 8 * 1_000_000;
/// Longest time that the deployment may work after the import.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// The standings of a country: by site, then by check.
pub type Answers = Vec<Vec<MomentVerdict>>;

/// Imports a world into a new data file in `folder` and asks for every pair of country and site at every check; the answers
/// are by country.
pub async fn live(world: &World, folder: &Path) -> Result<Vec<Answers>, String> {
    let mut settings = Settings::default();
    (settings.publish_interval, settings.first_party_services) = (1, false);
    let options = store::Options { alone: true, ..store::Options::new(folder.join("world.redb")) };
    let deployment = Deployment::open(settings, options).await?;
    let answers = lived(world, &deployment).await;
    deployment.close().await;
    answers
}

async fn lived(world: &World, deployment: &Deployment) -> Result<Vec<Answers>, String> {
    let rt: Arc<dyn Runtime> = deployment.native().clone();
    let start = begin(clock::now());
    import(&*rt, ImportKind::Asn, told::networks(world).as_bytes()).await?;
    sessions(&*rt, world, start).await?;
    rest(deployment).await?;
    // The rates of sites in other countries are sent once an hour. No world waits for that.
    runtime::call(&*rt, ActorId::sole(Kind::World).name, &SendPriors).await.map_err(refused)?;
    rest(deployment).await?;
    let mut asking = JoinSet::new();
    for country in 0..world.plan.size.countries {
        let (rt, sites) = (rt.clone(), world.plan.size.sites);
        asking.spawn(async move { (country, ask(&*rt, (country, sites), start).await) });
    }
    let mut answers = vec![Answers::new(); world.plan.size.countries];
    while let Some(done) = asking.join_next().await {
        let (country, found) = done.map_err(|error| error.to_string())?;
        if let Some(place) = answers.get_mut(country) {
            *place = found?;
        }
    }
    Ok(answers)
}

/// The first hour of a world. It is a Monday, so long ago that the world has just ended, because the rates of sites in
/// other countries are those of the last 30 days.
fn begin(now: Timestamp) -> Timestamp {
    // The first day of the epoch was a Thursday.
    let day = now.day() - 31;
    Timestamp((day - (day + 3).rem_euclid(7)) * DAY)
}

fn refused(error: heliograph_core::Error) -> String {
    error.into_details().message.into_owned()
}

async fn import(rt: &dyn Runtime, kind: ImportKind, text: &[u8]) -> Result<(), String> {
    let importer = Importer::new(rt, kind, Options::default()).await.map_err(refused)?;
    importer.chunk(rt, text).await.map_err(refused).map(|_| ())
}

async fn sessions(rt: &dyn Runtime, world: &World, start: Timestamp) -> Result<(), String> {
    let importer = Importer::new(rt, ImportKind::OoniObservations, Options::default()).await.map_err(refused)?;
    let (mut batch, mut text) = (Batch::default(), told::HEADER.to_owned());
    for (number, session) in world.sessions.iter().enumerate() {
        told::rows(&mut text, session, number, start);
        if text.len() > MAX_CHUNK / 2 || number + 1 == world.sessions.len() {
            batch.join(importer.read(rt, text.as_bytes()).await.map_err(refused)?);
            told::HEADER.clone_into(&mut text);
        }
        if batch.len() >= TOGETHER || number + 1 == world.sessions.len() {
            let summary = importer.store(rt, &std::mem::take(&mut batch).ready()).await.map_err(refused)?;
            if let Some(error) = summary.countries.values().find_map(|result| result.error.as_ref()) {
                return Err(format!("the world could not be imported: {error}"));
            }
        }
    }
    Ok(())
}

/// Waits until the deployment has finished everything that follows from the measurements.
async fn rest(deployment: &Deployment) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let due = deployment.native().store.earliest().map_err(refused)?;
        if due.is_none_or(|due| due.since(clock::now()) > REST) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Err("the deployment does not come to rest".to_owned())
}

async fn ask(rt: &dyn Runtime, (country, sites): (usize, usize), start: Timestamp) -> Result<Answers, String> {
    let times: Vec<Timestamp> =
        (CHECK..=HOURS).step_by(CHECK).map(|hour| start.plus(i64::try_from(hour).unwrap_or(0) * HOUR)).collect();
    let mut answers = Answers::with_capacity(sites);
    for site in 0..sites {
        let course = ReadCourse { target: told::site(site), times: times.clone() };
        answers.push(runtime::query(rt, told::code(country), &course).await.map_err(refused)?);
    }
    Ok(answers)
}
