//! Imports of reference data: test lists, fingerprints, block lists, networks, target lists, elections.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use super::measurements::refuse;
use super::{CountryResult, ImportKind, Importer, ListKind, Options, Summary};
use crate::country::{AddListed, ListedPreview};
use crate::elections::{self, AddElections, Election};
use crate::reference::{self, AddFingerprints, AddList, AddNetworks, AddTargets, KnownRows, NetworkEntry, TargetList};
use crate::{ErrorCode, Result, Timestamp, world};
use engine::runtime::{self, Runtime};
use facts::measurement::{ImportCounts, asn, blocklist, test_list};

/// Domains of a block list in one operation. Each changes two rows at most.
const LISTED_AT_ONCE: usize = 450;
/// Networks in one operation, which bounds the size of the message, and rows that they may fall into.
const NETWORKS_AT_ONCE: usize = 10_000;
const BLOCKS_AT_ONCE: usize = 900;

pub(super) enum Rows {
    Fingerprints(BTreeSet<String>),
    /// Domains with the date that their row states.
    Listed(BTreeMap<String, Option<Timestamp>>),
    Sites(BTreeMap<String, String>),
    Networks(BTreeMap<u32, NetworkEntry>),
    Targets(TargetList),
    Elections(Vec<Election>),
}

pub(super) struct Chunk {
    counts: ImportCounts,
    rows: Rows,
}

pub(super) fn parse(
    kind: ImportKind,
    reader: &mut dyn BufRead,
    limit: u64,
    options: &Options,
    now: Timestamp,
) -> Result<Chunk> {
    let (counts, rows) = match kind {
        ImportKind::Fingerprints => {
            let (lines, counts) = reference::fingerprint_lines(reader, limit, options.list.as_deref())?;
            (counts, Rows::Fingerprints(lines))
        }
        ImportKind::Blocklist => blocked_domains(reader, limit, now)?,
        ImportKind::TestList => tested_sites(reader, limit)?,
        ImportKind::Targets => {
            let (list, counts) = reference::read_targets(reader, limit)?;
            (counts, Rows::Targets(list))
        }
        ImportKind::Elections => {
            let (rows, counts) = elections::read(reader, limit, options.country.as_deref(), now).map_err(refuse)?;
            (counts, Rows::Elections(rows))
        }
        _ => {
            let mut networks = BTreeMap::new();
            let counts = asn::import(reader, limit, &mut |network| {
                let entry = NetworkEntry { name: network.name, addresses: network.ipv4_addresses };
                networks.insert(network.asn, entry).is_none()
            });
            (counts.map_err(refuse)?, Rows::Networks(networks))
        }
    };
    Ok(Chunk { counts, rows })
}

fn blocked_domains(reader: &mut dyn BufRead, limit: u64, now: Timestamp) -> Result<(ImportCounts, Rows)> {
    let mut domains: BTreeMap<String, Option<Timestamp>> = BTreeMap::new();
    let counts = blocklist::import(reader, limit, now, &mut |target, since| {
        match domains.entry(target.as_str().to_owned()) {
            Entry::Vacant(place) => {
                place.insert(since);
                true
            }
            // A domain that is listed more than once gets the earliest date, whatever the order of the rows.
            Entry::Occupied(mut known) => {
                let first = known.get().iter().chain(&since).min().copied();
                known.insert(first);
                false
            }
        }
    });
    Ok((counts.map_err(refuse)?, Rows::Listed(domains)))
}

fn tested_sites(reader: &mut dyn BufRead, limit: u64) -> Result<(ImportCounts, Rows)> {
    let mut sites = BTreeMap::new();
    let counts = test_list::import(reader, limit, &mut |site| {
        // A site with pages in several categories gets the first one in the order of codes, whatever the order of the
        // rows.
        let category = site.category.to_owned();
        match sites.entry(site.target.as_str().to_owned()) {
            Entry::Vacant(place) => {
                place.insert(category);
                true
            }
            Entry::Occupied(mut known) => {
                let first = category.min(known.get().clone());
                known.insert(first);
                false
            }
        }
    });
    Ok((counts.map_err(refuse)?, Rows::Sites(sites)))
}

pub(super) async fn store(rt: &dyn Runtime, importer: &Importer, chunk: Chunk) -> Result<Summary> {
    let Importer { options, epoch, .. } = importer;
    let (dry_run, epoch) = (options.dry_run, *epoch);
    let Chunk { mut counts, rows } = chunk;
    let mut summary = Summary::new(importer);
    let repeats = match rows {
        Rows::Listed(domains) => listed(rt, importer, domains, &mut summary).await?,
        Rows::Fingerprints(lines) => keep(rt, &AddFingerprints { lines: lines.into_iter().collect(), dry_run }).await?,
        Rows::Sites(sites) => {
            let list = options.list.clone().or_else(|| options.country.clone()).unwrap_or_else(|| "global".to_owned());
            let add = AddList { list: list.to_ascii_lowercase(), sites, dry_run, epoch };
            keep(rt, &add).await?
        }
        Rows::Targets(list) => keep(rt, &AddTargets { list, dry_run, epoch }).await?,
        Rows::Elections(rows) => {
            let mut repeats = 0;
            for part in rows.chunks(elections::AT_ONCE) {
                let add = AddElections { elections: part.to_vec(), dry_run, epoch };
                repeats += runtime::call(rt, world::actor().name, &add).await?.known;
            }
            repeats
        }
        Rows::Networks(networks) => {
            let networks: Vec<(u32, NetworkEntry)> = networks.into_iter().collect();
            let mut repeats = 0;
            for networks in parts(networks) {
                let add = AddNetworks { networks, dry_run, epoch };
                repeats += keep(rt, &add).await?;
            }
            repeats
        }
    };
    counts.move_to_duplicate(repeats);
    summary.counts = counts;
    Ok(summary)
}

/// Cuts networks, which are in order, into operations.
fn parts(networks: Vec<(u32, NetworkEntry)>) -> Vec<Vec<(u32, NetworkEntry)>> {
    let mut parts: Vec<Vec<(u32, NetworkEntry)>> = vec![Vec::new()];
    let (mut blocks, mut last) = (0, None);
    for (asn, entry) in networks {
        let block = Some(reference::block_of(asn));
        blocks += usize::from(block != last);
        last = block;
        if blocks > BLOCKS_AT_ONCE || parts.last().is_some_and(|part| part.len() >= NETWORKS_AT_ONCE) {
            parts.push(Vec::new());
            blocks = 1;
        }
        if let Some(part) = parts.last_mut() {
            part.push((asn, entry));
        }
    }
    parts
}

/// Sends rows to the reference actor. Returns how many of them it already had.
async fn keep<O: engine::actor::Operation<Reply = KnownRows>>(rt: &dyn Runtime, operation: &O) -> Result<u64> {
    Ok(runtime::call(rt, reference::actor().name, operation).await?.known)
}

async fn listed(
    rt: &dyn Runtime,
    importer: &Importer,
    domains: BTreeMap<String, Option<Timestamp>>,
    summary: &mut Summary,
) -> Result<u64> {
    let Importer { options, epoch, .. } = importer;
    let country = options.country.clone().unwrap_or_default();
    let date = options.date.unwrap_or_else(|| Timestamp(rt.now().day() * engine::time::DAY));
    let mut result = CountryResult::default();
    let domains: Vec<(String, Option<Timestamp>)> = domains.into_iter().collect();
    for part in domains.chunks(LISTED_AT_ONCE) {
        let kind = options.list_kind.unwrap_or(ListKind::Community) as u8;
        let add = AddListed { kind, date, domains: part.to_vec(), epoch: *epoch };
        let known = if options.dry_run {
            runtime::query(rt, country.clone(), &ListedPreview(add)).await
        } else {
            runtime::call(rt, country.clone(), &add).await
        };
        match known {
            Ok(known) => {
                result.known += known;
                result.new += part.len() as u64 - known;
            }
            Err(error) if error.code == ErrorCode::Conflict => return Err(error),
            Err(error) => {
                result.error = Some(format!("{}: {}", error.code.as_str(), error.message));
                summary.complete = false;
                break;
            }
        }
    }
    let known = result.known;
    summary.countries.insert(country, result);
    Ok(known)
}
