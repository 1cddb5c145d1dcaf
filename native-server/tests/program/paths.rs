//! Files that are not there, are no files, or are not for the user that runs the program: each command says in one
//! sentence what it tried, with which file, why that failed, and what to do next.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use heliograph::testing::Folder;

use super::{Server, bad, data, good, heliograph};

/// A folder with the things that go wrong.
struct Place {
    folder: Folder,
    data: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let (folder, data) = data(name);
        std::fs::create_dir(folder.file("dir")).unwrap();
        std::fs::write(folder.file("plain"), "{}\n").unwrap();
        symlink("nowhere", folder.file("link")).unwrap();
        Place { folder, data }
    }

    fn at(&self, name: &str) -> String {
        self.folder.file(name).to_str().unwrap().to_owned()
    }

    /// The last line of a command that fails.
    fn told(&self, arguments: &[&str]) -> String {
        last(&bad(&self.data, arguments), arguments)
    }
}

/// The last line, which has no words that only programmers know.
fn last(told: &str, arguments: &[&str]) -> String {
    assert!(!told.contains("os error"), "{arguments:?}: {told}");
    told.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_its_reason_and_the_next_step() {
    let place = Place::new("unread");
    let (missing, below) = (place.at("missing"), place.at("plain/x"));
    let (folder, link) = (place.at("dir"), place.at("link"));
    for command in [&["load"][..], &["config", "check"], &["db", "restore", "--check"], &["config", "--config"]] {
        let told = |file: &str| place.told(&[command, &[file]].concat());
        let cases = [
            (&missing, "there is no such file; see how the path is written"),
            (&below, "plain is a file, not a folder; see how the path is written"),
            (&folder, "it is a folder; name a file in it"),
            (&link, "it is a link to a file that is not there; see where the link leads"),
        ];
        for (file, why) in cases {
            let told = told(file);
            assert!(told.contains(&format!("cannot read {file}: ")) && told.contains(why), "{command:?}: {told}");
        }
    }
    let told = last(&bad(&place.data, &["load", "missing"]), &[]);
    assert!(told.contains(", which begins at /"), "{told}");
    for command in [&["import", "asn"][..], &["classify"], &["evaluate"]] {
        for (file, why) in [(&missing, "there is no such file"), (&folder, "it is a folder")] {
            let arguments = [command, &[file]].concat();
            let output = super::run(&place.data, &arguments);
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(told.contains(&format!("error: {file}: {why}")), "{arguments:?}: {told}");
            assert!(!output.status.success() && !told.contains("os error"), "{arguments:?}: {told}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_written_is_told_with_its_reason_and_the_next_step() {
    let place = Place::new("unwritten");
    good(&place.data, &["keys", "create", "--tier", "research"]);
    for command in [&["db", "backup"][..], &["dump"]] {
        for (name, why) in [
            ("plain", "it exists, and nothing is written over it; name another file, or move that one away"),
            ("dir", "it is a folder; name a file in it"),
            ("no/x", "no; make it with `mkdir -p`"),
            ("plain/x", "plain is a file, not a folder"),
        ] {
            let file = place.at(name);
            let told = place.told(&[command, &[&file]].concat());
            assert!(told.contains(&format!("cannot write {file}: ")) && told.contains(why), "{command:?}: {told}");
        }
    }
    assert_eq!(std::fs::read_to_string(place.at("plain")).unwrap(), "{}\n");
    let told = place.told(&["man", "--folder", &place.at("plain/x")]);
    assert!(told.contains("plain is a file, not a folder"), "{told}");
    // A backup to a place that is none leaves nothing there.
    let copy = place.at("copy.redb");
    good(&place.data, &["db", "backup", &copy]);
    std::fs::copy(place.at("d.redb.key"), place.at("copy.redb.key")).unwrap();
    let restored = |to: &str| {
        let output = super::run(Path::new(&place.at(to)), &["db", "restore", "--replace", &copy]);
        assert!(!output.status.success(), "{to}");
        last(&String::from_utf8(output.stderr).unwrap(), &[to])
    };
    assert!(restored("dir").contains("dir is a folder; name the data file in it"));
    assert!(restored("no/x").contains("make it with `mkdir -p`"));
    assert!(std::fs::read_dir(place.at("dir")).unwrap().next().is_none());
}

#[test]
fn a_data_file_that_cannot_be_opened_is_told_with_its_reason_and_the_next_step() {
    let place = Place::new("unopened");
    let start = |name: &str| {
        let arguments = ["serve", "--listen", "127.0.0.1:0"];
        last(&bad(Path::new(&place.at(name)), &arguments), &arguments)
    };
    assert!(start("dir").contains("dir is a folder; name the data file in it"));
    assert!(start("no/d.redb").contains("no; make it with `mkdir -p`"));
    assert!(start("plain/d.redb").contains("plain is a file, not a folder; see how the path is written"));
    let told = start("plain");
    assert!(told.contains("plain.key is missing") && told.contains("name another data file with --data"), "{told}");
}

/// Another user than the one whose files these are.
fn as_nobody(command: &mut Command) -> Option<String> {
    let output = command.uid(65_534).gid(65_534).output().ok()?;
    assert!(!output.status.success());
    Some(last(&String::from_utf8(output.stderr).unwrap(), &[]))
}

#[test]
fn a_file_of_another_user_is_told_with_the_user_and_how_to_give_it() {
    let place = Place::new("forbidden");
    good(&place.data, &["keys", "create", "--tier", "research"]);
    let (settings, open) = (place.at("settings.toml"), place.at("dir"));
    std::fs::write(&settings, "streams = 10\n").unwrap();
    std::fs::set_permissions(&settings, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::set_permissions(place.data.parent().unwrap(), PermissionsExt::from_mode(0o755)).unwrap();
    let Some(told) = as_nobody(heliograph(&place.data).args(["--config", &settings, "config"])) else {
        println!("skipped: only root can run a program as another user");
        return;
    };
    let reads = "the user with the number 65534, as whom this runs, may not read it; chown it to that user";
    assert!(told.contains(&format!("cannot read {settings}: {reads}")), "{told}");
    let told = as_nobody(heliograph(&place.data).args(["keys", "list"])).unwrap();
    assert!(told.contains(&format!("d.redb.key: {reads}")), "{told}");
    let new = format!("{open}/new.redb");
    let told = as_nobody(heliograph(Path::new(&new)).args(["serve", "--listen", "127.0.0.1:0"])).unwrap();
    let writes =
        format!("as whom this runs, may not write it, or not in its folder {open}; give both to that user with chown");
    assert!(told.contains(&format!("cannot write {new}.key: ")) && told.contains(&writes), "{told}");
    // What is behind a closed door is not said to be missing.
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o700)).unwrap();
    let told = as_nobody(heliograph(Path::new(&new)).args(["db", "info"])).unwrap();
    assert!(told.contains(reads), "{told}");
}

#[test]
fn an_address_that_cannot_be_listened_on_is_told_with_the_next_step() {
    let place = Place::new("listening");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("127.0.0.1:{}", taken.local_addr().unwrap().port());
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let free = format!("127.0.0.1:{free}");
    let start = |listen: &str, more: &[&str]| place.told(&[&["serve", "--listen", listen], more].concat());
    let told = start("nowhere.invalid:80", &[]);
    assert!(told.contains("cannot listen on nowhere.invalid:80: "), "{told}");
    assert!(told.contains("write an address of this machine and a port, such as 127.0.0.1:8787"), "{told}");
    for setting in ["metrics_listen", "redirect_listen"] {
        let told = start("127.0.0.1:0", &["--set", &format!("{setting}={taken}")]);
        assert!(told.contains(&format!("cannot listen on {taken} ({setting}): ")), "{told}");
        let told = start(&free, &["--set", &format!("{setting}={free}")]);
        let both = format!("listen and {setting} both take {free}; give {setting} a port of its own");
        assert!(told.ends_with(&both), "{told}");
    }
    let settings = place.at("settings.toml");
    std::fs::write(&settings, "listen = \"0.0.0.0:9187\"\nmetrics_listen = \"127.0.0.1:9187\"\n").unwrap();
    let told = bad(&place.data, &["config", "check", &settings]);
    assert!(told.contains("listen and metrics_listen both take 127.0.0.1:9187"), "{told}");
    Server::start_with(&place.data, &["--set", "metrics_listen=127.0.0.1:0"]).stop();
}
