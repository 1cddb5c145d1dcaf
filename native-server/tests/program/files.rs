//! The life of a data file: backups that are checked and restored, compaction, and files of other versions.

use std::io::Read;
use std::path::{Path, PathBuf};

use heliograph::keyfile;
use heliograph_core::engine::actor::schema::VERSION as SCHEMA_VERSION;
use heliograph_core::engine::actor::{ActorId, Kind};
use heliograph_core::engine::kv::encode_row;
use redb::{Database, TableDefinition};
use serde_json::{Value, json};

use super::{Server, bad, data, get, good, heliograph, post};

fn register(server: &Server, name: &str) -> Value {
    let (status, made) = post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({ "name": name }));
    assert_eq!(status, 201);
    made
}

fn knows(server: &Server, agent: &Value) -> bool {
    get(&format!("{}/v1/agent/identity/{}", server.base, agent["did"].as_str().unwrap()), ("x-a", "b")).0 == 200
}

/// A backup of this running server, with its key file.
fn backed_up(server: &Server, path: &Path, copy: &Path) {
    let key = keyfile::read(path).unwrap().admin_key;
    let (to, name) = (server.base.as_str(), copy.to_str().unwrap());
    let done = heliograph(path).args(["db", "backup", "--to", to, "--admin-key", &key, name]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::copy(keyfile::path_for(path), keyfile::path_for(copy)).unwrap();
}

/// Decision commands-on-servers.
#[test]
fn a_backup_of_a_running_server_is_one_file_that_is_checked_and_restored() {
    let (folder, path) = data("restore");
    let copy = folder.file("copy.redb");
    let server = Server::start(&path);
    let before = register(&server, "before");
    backed_up(&server, &path, &copy);
    let after = register(&server, "after");
    let name = copy.to_str().unwrap();
    let bytes = std::fs::read(&copy).unwrap();
    let told = good(&path, &["db", "restore", "--check", name]);
    assert!(told.contains(" is sound (") && told.ends_with("copy.redb can be restored\n"), "{told}");
    assert_eq!(std::fs::read(&copy).unwrap(), bytes, "a check changes nothing");
    let told = bad(&path, &["db", "restore", name]);
    assert!(told.contains(" exists; move it away, or take --replace"), "{told}");
    let told = bad(&path, &["db", "restore", "--replace", name]);
    assert!(told.contains(" is in use by another process, probably a running server; stop it first"), "{told}");
    let told = bad(&path, &["db", "compact", "--to", &server.base]);
    assert!(told.contains("cannot be compacted: stop the server, then run this command"), "{told}");
    assert!(knows(&server, &after));
    // A server that ended without folding its journal: what is only there is lost with the file.
    let mut server = server;
    register(&server, "in the journal");
    server.kill();
    good(&path, &["db", "restore", "--replace", name]);
    let server = Server::start(&path);
    assert!(knows(&server, &before) && !knows(&server, &after));
    server.stop();
    // To another place, where nothing is.
    let other = folder.file("other.redb");
    good(&other, &["db", "restore", name]);
    let server = Server::start(&other);
    assert!(knows(&server, &before));
    server.stop();
}

/// A backup that would not help is refused while there is time to make another.
#[test]
fn a_backup_without_its_key_or_with_damage_is_told_in_one_sentence_with_the_next_step() {
    let (folder, path) = data("bad-backup");
    let copy = folder.file("copy.redb");
    let server = Server::start(&path);
    register(&server, "one");
    backed_up(&server, &path, &copy);
    server.stop();
    let name = copy.to_str().unwrap();
    let key = keyfile::path_for(&copy);
    let kept = folder.file("kept.key");
    std::fs::rename(&key, &kept).unwrap();
    let told = bad(&path, &["db", "restore", "--check", name]);
    assert!(told.contains("copy.redb.key is missing: a backup is two files"), "{told}");
    let other = std::fs::read_to_string(&kept).unwrap();
    let master = other.lines().find_map(|line| line.strip_prefix("master ")).unwrap();
    std::fs::write(&key, other.replace(master, &"7b".repeat(32))).unwrap();
    let told = bad(&path, &["db", "restore", "--check", name]);
    assert!(told.contains("error: the master key does not belong to this data"), "{told}");
    std::fs::rename(&kept, &key).unwrap();
    let whole = std::fs::read(&copy).unwrap();
    // Less than a page of it is no empty file either, in whose place a new deployment would begin.
    for length in [100, 2_048, whole.len() / 2] {
        std::fs::write(&copy, &whole[..length]).unwrap();
        let told = bad(&path, &["db", "restore", "--check", name]);
        let last = told.lines().last().unwrap();
        let so = "copy.redb is so damaged that nothing in it can be found";
        assert!(last.starts_with("error: ") && last.contains(so), "{length}: {told}");
        assert!(bad(&path, &["db", "restore", "--replace", name]).contains(so), "{length}");
    }
    let itself = bad(&path, &["db", "restore", "--replace", path.to_str().unwrap()]);
    assert!(itself.contains("is the data file itself; name the backup"), "{itself}");
    let told = bad(&copy, &["serve", "--listen", "127.0.0.1:0"]);
    let last = told.lines().last().unwrap();
    assert!(
        last.contains(" ERROR ") && last.contains("copy.redb is so damaged that nothing in it can be found"),
        "{told}"
    );
    assert!(last.ends_with("put a backup in its place, with `heliograph db restore FILE --replace`"), "{told}");
    assert!(bad(&path, &["db", "restore", "--check", "/nowhere/x"]).contains("cannot read /nowhere/x: there is no"));
}

/// Decision compact-by-copy.
#[test]
fn a_compacted_file_has_everything_and_a_used_one_is_left_alone() {
    let (_folder, path) = data("compact-command");
    let mut server = Server::start(&path);
    let agents: Vec<Value> = (0..30).map(|n| register(&server, &format!("agent {n}"))).collect();
    let told = bad(&path, &["db", "compact"]);
    assert!(told.contains(" is in use by another process"), "{told}");
    // Ended without a proper stop, so there are commits that only the journal has.
    server.kill();
    let told = good(&path, &["db", "compact"]);
    assert!(told.contains(" bytes before, "), "{told}");
    assert!(good(&path, &["db", "check"]).contains(" is sound "));
    let server = Server::start(&path);
    assert!(agents.iter().all(|agent| knows(&server, agent)));
    server.stop();
}

fn earlier() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/earlier")
}

fn unpacked(name: &str, to: &Path) -> Value {
    let folder = earlier();
    let packed = std::fs::File::open(folder.join(format!("{name}.redb.gz"))).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    std::fs::write(to, bytes).unwrap();
    let keys = format!("heliograph-keys 1\nmaster {}\nadmin conformance-admin-key\n", "2a".repeat(32));
    std::fs::write(keyfile::path_for(to), keys).unwrap();
    serde_json::from_slice(&std::fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap()
}

/// Decision schema-versions.
#[test]
fn files_of_earlier_versions_open_and_serve() {
    let mut names: Vec<String> = std::fs::read_dir(earlier())
        .unwrap()
        .filter_map(|file| Some(file.unwrap().file_name().to_str()?.strip_suffix(".redb.gz")?.to_owned()))
        .collect();
    names.sort();
    // The files of this version count as well: the last one has the schema that it writes.
    assert_eq!(names.last().unwrap(), &format!("schema-{SCHEMA_VERSION}"), "tests/vectors/earlier/README.md");
    for name in names.iter().map(String::as_str) {
        let (_folder, path) = data(name);
        let known = unpacked(name, &path);
        let server = Server::start(&path);
        let ask = |who: &str, route: &str| {
            get(&format!("{}{route}", server.base), ("x-agent-key", known[who]["api_key"].as_str().unwrap()))
        };
        assert_eq!(ask("ada", "/v1/agent/profile").1["name"], "Earlier Ada", "{name}");
        assert_eq!(ask("bob", "/v1/agent/memory/notes/one").1["value"], json!({ "kept": true }), "{name}");
        server.stop();
        assert!(good(&path, &["db", "check"]).contains(" is sound "), "{name}");
    }
}

/// Decision schema-versions.
#[test]
fn a_file_of_a_later_version_is_refused_with_its_version_and_the_next_step() {
    let (_folder, path) = data("later");
    unpacked("schema-1", &path);
    let table: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");
    let place = [heliograph::store::prefix(&ActorId::new(Kind::Deployment, "main")), vec![14]].concat();
    let database = Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let later = SCHEMA_VERSION + 3;
    let row = encode_row(&later).unwrap();
    transaction.open_table(table).unwrap().insert(place.as_slice(), row.as_slice()).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let told = bad(&path, &["serve", "--listen", "127.0.0.1:0"]);
    let expected = format!(
        "This data was written by a newer version of the program (schema {later}; this one knows {SCHEMA_VERSION}). Start it \
         with that version."
    );
    assert!(told.contains(&expected), "{told}");
}
