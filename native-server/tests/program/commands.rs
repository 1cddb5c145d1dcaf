//! Commands for users, as people and scripts call them: on a real server, by the real program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use heliograph::testing::Folder;
use serde_json::{Value, json};

use crate::{Server, data, good, heliograph, run};

/// A user with a folder for profiles, and a server with a few data.
struct User {
    server: Server,
    data: PathBuf,
    folder: Folder,
}

/// What a command wrote, and the number that it ended with.
#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    error: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code().unwrap(), out: text(output.stdout), error: text(output.stderr) }
    }
}

impl User {
    fn new(name: &str) -> User {
        let (folder, data) = data(name);
        let document = |number: u32| {
            json!({
                "test_name": "telegram", "report_id": format!("r{number}"), "probe_cc": "KE", "probe_asn": "AS64500",
                "measurement_start_time": format!("2026-05-0{number} 00:00:00"), "input": null,
                "test_keys": { "telegram_web_status": "ok" },
            })
            .to_string()
        };
        let file = folder.file("documents.jsonl");
        std::fs::write(&file, [document(1), document(2)].join("\n")).unwrap();
        good(&data, &["import", "ooni-measurements", file.to_str().unwrap()]);
        let make = ["--country", "KE", "--subject", "one.example.org", "--start", "2024-01-01", "--reason", "press"];
        good(&data, &[&["admin", "incidents", "create"][..], &make[..]].concat());
        User { server: Server::start(&data), data, folder }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = heliograph(&self.data);
        command.args(arguments).env("XDG_CONFIG_HOME", self.folder.path().join("config"));
        command.env_remove("HELIOGRAPH_PROFILE").env("HELIOGRAPH_URL", &self.server.base);
        command
    }

    fn says(&self, arguments: &[&str]) -> Said {
        self.command(arguments).output().unwrap().into()
    }

    /// Standard output of a command that must succeed.
    fn good(&self, arguments: &[&str]) -> String {
        let said = self.says(arguments);
        assert_eq!((said.code, said.error.as_str()), (0, ""), "{arguments:?}: {said:?}");
        said.out
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.good(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// The rows of a CSV answer, each a list of its cells.
    fn csv(&self, arguments: &[&str]) -> Vec<Vec<String>> {
        let text = self.good(&[arguments, &["--csv"]].concat());
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
    }
}

/// Decision exit-codes.
#[test]
fn a_check_is_a_table_json_or_csv_and_a_number_for_scripts() {
    let user = User::new("user-check");
    let text = user.good(&["check", "youtube.com", "cn"]);
    assert!(text.contains("YouTube") || text.contains("youtube.com"), "{text}");
    assert!(text.lines().any(|line| line.split_whitespace().eq(["status", "blocked"])), "{text}");
    assert!(!text.contains('\u{1b}'), "colours outside of a terminal: {text}");
    let answer = user.json(&["check", "youtube.com", "CN"]);
    assert_eq!((answer["status"].as_str(), answer["country"].as_str()), (Some("blocked"), Some("CN")));
    let several = user.good(&["check", "youtube.com", "one.example.org", "CN", "--json"]);
    let statuses: Vec<Value> =
        several.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone()).collect();
    assert_eq!(statuses, ["blocked", "unknown"]);
    let rows = user.csv(&["check", "youtube.com", "one.example.org", "CN"]);
    assert_eq!((rows.len(), &rows[0][..3]), (3, &["target", "country", "status"].map(String::from)[..]));
    assert_eq!(rows[2][..3], ["one.example.org", "CN", "unknown"]);
    let table = user.good(&["check", "youtube.com", "one.example.org", "CN"]);
    assert!(table.starts_with("TARGET") && table.lines().count() == 3, "{table}");
    for (target, code) in [("youtube.com", 10), ("one.example.org", 11)] {
        assert_eq!(user.says(&["check", target, "CN", "--exit-code"]).code, code, "{target}");
    }
    let past = user.json(&["check", "telegram", "KE", "--as-of", "2026-05-03"]);
    assert_eq!(past["as_of"].as_str().map(|time| &time[..10]), Some("2026-05-03"), "{past}");
    // Refused by the server, not understood, not answered.
    let refused = user.says(&["check", "youtube.com", "Atlantis"]);
    assert!(refused.code == 4 && refused.error.contains("BAD_REQUEST"), "{refused:?}");
    assert_eq!(user.says(&["check", "youtube.com"]).code, 2);
    assert_eq!(user.says(&["check", "youtube.com", "CN", "--json", "--csv"]).code, 2);
    assert_eq!(user.says(&["check", "youtube.com", "CN", "--url", "ftp://x"]).code, 2);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let lost = user.says(&["claim", "x", "--url", &format!("http://{closed}"), "--json"]);
    assert!(lost.code == 3 && lost.out.is_empty() && lost.error.contains(&closed.to_string()), "{lost:?}");
}

/// Services and their timers have no home.
#[test]
fn who_has_no_folder_for_profiles_asks_all_the_same_and_is_told_of_it_as_an_agent() {
    let user = User::new("user-homeless");
    let says = |arguments: &[&str]| -> Said {
        user.command(arguments).env_remove("XDG_CONFIG_HOME").env_remove("HOME").output().unwrap().into()
    };
    let told = says(&["country", "KE"]);
    assert_eq!((told.code, told.error.as_str()), (0, ""), "{told:?}");
    for arguments in [&["agent", "register"][..], &["country", "KE", "--profile", "home"], &["profile", "list"]] {
        let told = says(arguments);
        assert!(told.code == 2 && told.error.contains("set HOME or XDG_CONFIG_HOME"), "{arguments:?}: {told:?}");
    }
}

#[test]
fn countries_claims_and_counts_answer_in_every_form() {
    let user = User::new("user-data");
    let text = user.good(&["country", "ke"]);
    assert!(text.contains("Kenya") && text.contains("one.example.org"), "{text}");
    assert!(text.contains("BLOCKED") || text.contains("Nothing is known to be blocked."), "{text}");
    assert!(text.contains("no score"), "the data are too few for a score, which must be said: {text}");
    let answer = user.json(&["country", "KE"]);
    assert!(answer["country"] == "KE" && answer["data"]["blockedDomains"].is_array(), "{answer}");
    let past = user.good(&["country", "KE", "--as-of", "2020-01-01"]);
    assert!(past.contains("2020-01-01 23:59") && past.contains("no score"), "{past}");
    let rows = user.csv(&["country", "KE"]);
    assert_eq!((rows.len(), rows[0][0].as_str(), rows[1][0].as_str()), (2, "country", "KE"));
    let claim = ["claim", "YouTube is", "blocked in China"];
    let verdict = user.json(&claim);
    assert!(verdict["claim"] == "YouTube is blocked in China" && verdict["verdict"].is_string(), "{verdict}");
    let text = user.good(&claim);
    assert!(text.contains(verdict["reason"].as_str().unwrap()) && text.contains("verdict"), "{text}");
    assert_eq!(user.csv(&claim)[1][0], verdict["verdict"].as_str().unwrap());
    let counting = ["aggregate", "--country", "ke", "--since", "2026-05-01", "--until", "2026-05-04", "--by", "day"];
    let rows = user.csv(&counting);
    assert_eq!(rows[0][..2], ["measurement_start_day", "measurement_count"]);
    assert!(rows.iter().any(|row| row[0].starts_with("2026-05-01") && row[1] == "1"), "{rows:?}");
    let text = user.good(&counting);
    assert!(text.starts_with("DAY") && text.contains("\n2026-05-01  "), "{text}");
    for part in ["range", "2026-05-01 00:00 to 2026-05-04 00:00 (UTC)", "license", "method", "left out"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Few days are rows of a day each, too, unless another grain is wanted.
    let answer = user.json(&[&counting[..], &["--by", "network"]].concat());
    let first = &answer["result"][0];
    assert!(first["probe_asn"].is_string() || first["probe_asn"].is_number(), "{answer}");
    assert!(answer["time_grain"] == "day" && answer["license"].is_string() && answer["left_out"].is_string());
    let refused = user.says(&["aggregate", "--country", "Kenya", "--by", "domain"]);
    assert!(
        refused.code == 4 && refused.error.contains("--country") && !refused.error.contains("probe_cc"),
        "{refused:?}"
    );
    let unfit = user.says(&["aggregate", "--by", "day", "--by", "day", "--by", "day"]);
    assert_eq!(unfit.code, 2, "{unfit:?}");
}

#[test]
fn a_watch_tells_changes_in_their_order() {
    let user = User::new("user-watch");
    let since = ["watch", "incidents", "--since", "2020-01-01", "--every", "5"];
    let one = user.good(&[&since[..], &["--country", "KE", "--count", "1"]].concat());
    assert!(one.contains("KE-2024-0001") && one.lines().count() == 1, "{one}");
    // What changes while it watches is told, too: the change is made after the first line.
    let mut watching = user.command(&[&since[..], &["--count", "2", "--json"]].concat());
    let mut watching = watching.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watching.stdout.take().unwrap()));
    let mut next = || lines.next().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_ne!(next().unwrap()["title"], "By hand");
    let amend = ["admin", "incidents", "amend", "KE-2024-0001", "--title", "By hand", "--reason", "more"];
    good(&user.data, &[&amend[..], &["--to", &user.server.base]].concat());
    assert_eq!(next().unwrap()["title"], "By hand");
    assert!(next().is_none() && watching.wait().unwrap().success());
    assert_eq!(user.says(&["watch", "incidents", "--every", "1"]).code, 2, "politeness is not a matter of choice");
    // A check is written at once; it goes on until another answer comes.
    let mut watching =
        user.command(&["watch", "check", "youtube.com", "CN", "--csv"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watching.stdout.take().unwrap()));
    assert!(lines.next().unwrap().unwrap().starts_with("target,country,status"));
    assert!(lines.next().unwrap().unwrap().starts_with("youtube.com,CN,blocked"));
    assert!(watching.try_wait().unwrap().is_none());
    watching.kill().unwrap();
    watching.wait().unwrap();
}

/// A server that gives one answer after the other, each to one request, with this body.
fn answers(bodies: Vec<String>) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for body in bodies {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stream.try_clone().unwrap()));
            while !lines.next().unwrap().unwrap().is_empty() {}
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n");
            stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).unwrap();
        }
    });
    base
}

#[test]
fn a_watched_check_ends_with_the_first_answer_of_another_status() {
    let user = User::new("user-watch-check");
    let blocked = user.json(&["check", "youtube.com", "CN"]);
    assert_eq!(blocked["status"], "blocked");
    let mut told = blocked.clone();
    told["summary"] = "the same in other words".into();
    let mut open = blocked.clone();
    open["status"] = "accessible".into();
    let base = answers([&blocked, &told, &open].map(ToString::to_string).to_vec());
    let watch = ["watch", "check", "youtube.com", "CN", "--every", "5", "--url", &base];
    let lines = user.good(&[&watch[..], &["--json"]].concat());
    let statuses: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone()).collect();
    assert_eq!(statuses, ["blocked", "accessible"]);
}

#[test]
fn agents_write_to_each_other_and_their_keys_stay_in_their_profiles() {
    let user = User::new("user-agents");
    let none = user.says(&["agent", "send", "did:svc:x", "Hello"]);
    assert!(none.code == 2 && none.error.contains("agent register"), "{none:?}");
    let ada = user.json(&["agent", "register", "--name", "ada"]);
    let bob = user.good(&["agent", "register", "--name", "bob", "--profile", "bob"]);
    assert!(bob.contains("did:svc:") && bob.contains("Back up"), "{bob}");
    let ada = ada["did"].as_str().unwrap().to_owned();
    let bob = user.json(&["profile", "show", "bob"])["did"].as_str().unwrap().to_owned();
    let again = user.says(&["agent", "register"]);
    assert!(again.code == 2 && again.error.contains(&ada), "{again:?}");
    let taken = user.says(&["agent", "register", "--name", "ada", "--profile", "third"]);
    assert!(taken.code == 4 && taken.error.contains("CONFLICT"), "{taken:?}");

    let sent = user.json(&["agent", "send", &bob, "Hello,", "Bob"]);
    assert_eq!((sent["to"].as_str(), sent["client_side"].as_bool()), (Some(bob.as_str()), Some(true)));
    let mut piped = user.command(&["agent", "send", &bob, "-", "--sealed", "--prekeys", "--thread", "t1"]);
    let mut piped = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    piped.stdin.take().unwrap().write_all("two\n\u{1b}[31mlines".as_bytes()).unwrap();
    assert!(piped.wait_with_output().unwrap().status.success());
    let listen = ["agent", "listen", "--count", "2", "--profile", "bob"];
    let kept = user.good(&[&listen[..], &["--keep", "--json"]].concat());
    let texts: Vec<Value> =
        kept.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].clone()).collect();
    assert_eq!(texts, ["Hello, Bob", "two\n\u{1b}[31mlines"]);
    // They were kept unread, so they come again. A text cannot command the terminal.
    let read = user.good(&listen);
    assert!(read.contains(&ada) && read.contains("Hello, Bob") && read.contains("\\u{1b}[31mlines"), "{read}");
    // Now they are read: the next one is the first that comes.
    user.good(&["agent", "send", &bob, "third"]);
    let rows = user.csv(&["agent", "listen", "--count", "1", "--from", &ada, "--profile", "bob"]);
    assert_eq!((rows[0][5].as_str(), rows[1][5].as_str()), ("text", "third"));

    // An agent whose keys the server holds writes and hears, too.
    user.good(&["agent", "register", "--by-service", "--profile", "held"]);
    let held = user.json(&["profile", "show", "held"])["did"].as_str().unwrap().to_owned();
    assert_eq!(user.json(&["agent", "send", &held, "Hello", "--profile", "held"])["client_side"], false);
    assert!(user.good(&["agent", "listen", "--count", "1", "--profile", "held"]).contains("Hello"));

    secrets_stay(&user, &ada);
}

/// Keys are in files of their owner only, are printed when asked for only, and go to no other server.
fn secrets_stay(user: &User, ada: &str) {
    let listed = user.good(&["profile", "list"]);
    assert!(listed.lines().any(|line| line.starts_with('*') && line.contains(ada)), "{listed}");
    let plain = user.good(&["profile", "show"]);
    let secret = user.json(&["profile", "show", "--secrets"])["api_key"].as_str().unwrap().to_owned();
    assert!(!secret.is_empty() && !plain.contains(&secret) && !listed.contains(&secret), "{plain}");
    only_owner(&user.folder.path().join("config/heliograph"));
    let elsewhere = user.says(&["agent", "listen", "--url", "http://127.0.0.1:9"]);
    assert!(elsewhere.code == 2 && elsewhere.error.contains("must not go to"), "{elsewhere:?}");
    assert_eq!(user.says(&["profile", "set", "default", "http://127.0.0.1:9"]).code, 2);
    // A profile names its server, and the one in use can be changed.
    user.good(&["profile", "set", "away", "http://127.0.0.1:9/"]);
    assert_eq!(user.json(&["profile", "show", "away"])["url"], "http://127.0.0.1:9");
    let away = user.says(&["country", "KE", "--profile", "away"]);
    assert!(away.code == 3 && away.error.contains("127.0.0.1:9"), "{away:?}");
    user.good(&["profile", "use", "bob"]);
    assert_eq!(user.json(&["profile", "show"])["name"], "bob");
    assert_eq!(user.says(&["profile", "use", "nobody"]).code, 2);
    assert_eq!(user.says(&["profile", "show", "../default"]).code, 2);
    assert_eq!(user.says(&["profile", "remove", "bob"]).code, 2);
    user.good(&["profile", "remove", "bob", "--yes"]);
    assert!(!user.good(&["profile", "list"]).contains("bob"));
}

fn only_owner(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mut files = 0;
    let mut folders = vec![folder.join("profiles")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", entry.path());
            match entry.path().is_dir() {
                true => folders.push(entry.path()),
                false => files += 1,
            }
        }
    }
    assert!(files >= 4, "{files}");
}

#[test]
fn credits_are_granted_paid_and_set_aside_for_a_hire() {
    let user = User::new("user-pay");
    user.good(&["agent", "register"]);
    user.good(&["agent", "register", "--profile", "bob"]);
    let bob = user.json(&["profile", "show", "bob"])["did"].as_str().unwrap().to_owned();
    let poor = user.says(&["pay", "balance"]);
    assert!(poor.code == 4 && poor.error.contains("pay grant"), "{poor:?}");
    let granted = user.json(&["pay", "grant"])["new_balance_micro"].as_i64().unwrap();
    assert!(granted > 0);
    assert_eq!(user.says(&["pay", "grant"]).code, 4);
    user.good(&["pay", "grant", "--profile", "bob"]);
    let paid = user.json(&["pay", "send", &bob, "0.25", "--memo", "for the translation"]);
    assert_eq!(paid["transfer"]["amount_micro"], 250_000, "{paid}");
    assert_eq!(paid["sender_new_balance_micro"], granted - 250_000);
    let rows = user.csv(&["pay", "balance", &bob]);
    assert_eq!((rows[0][1].as_str(), rows[1][0].as_str()), ("balance", bob.as_str()));
    assert_eq!(user.json(&["pay", "balance"])["balance_micro"], granted - 250_000);
    let much = user.says(&["pay", "send", &bob, "999999"]);
    assert!(much.code == 4 && much.out.is_empty(), "{much:?}");
    for wrong in ["0", "-1", "1e3", "0.0000001"] {
        assert_eq!(user.says(&["pay", "send", &bob, wrong]).code, 2, "{wrong}");
    }
    assert!(user.good(&["pay", "offers", "nothing", "like", "this"]).contains("Nobody offers that."));
    let offer = offer_of(&user);
    let rows = user.csv(&["pay", "offers", "translate"]);
    assert_eq!((rows.len(), rows[1][0].as_str(), rows[1][1].as_str()), (2, offer.as_str(), "0.5"));
    assert!(user.good(&["pay", "offers", "--max", "1"]).contains(&offer));
    assert!(!user.good(&["pay", "offers", "--max", "0.1"]).contains(&offer));
    let dear = user.says(&["pay", "hire", &offer, "--max", "0.4"]);
    assert!(dear.code == 2 && dear.error.contains("0.5"), "{dear:?}");
    let hired = user.json(&["pay", "hire", &offer, "--max", "0.5", "--input", r#"{"text":"bonjour"}"#]);
    assert_eq!((hired["price_micro"].as_i64(), hired["provider_did"].as_str()), (Some(500_000), Some(bob.as_str())));
    assert_eq!(user.json(&["pay", "balance"])["locked_micro"], 500_000);
    assert!(good(&user.data, &["ledger", "verify", "--url", &user.server.base]).contains("the log is sound"));
}

/// Bob's offer. Providers work by the library, so this test writes it as a provider's program would.
fn offer_of(user: &User) -> String {
    use heliograph_client::ledger::market::Offer;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let keys = user.folder.path().join("config/heliograph/profiles/bob/keys");
    let work = async {
        let store = heliograph_client::store::FileStore::new(keys).unwrap();
        let bob = heliograph_client::Client::new(&user.server.base).unwrap().open(store).await.unwrap();
        bob.list_offer(&Offer::new("translate", "Translate a page", 500_000)).await.unwrap().capability_id
    };
    runtime.block_on(work)
}

/// The numbers are an interface of their own, so what scripts read about them must be true.
#[test]
fn the_documentation_has_the_exit_codes_of_the_help() {
    let (_folder, path) = data("user-codes");
    let help = good(&path, &["--help"]);
    let codes = help.split_once("Exit codes:\n").unwrap().1.trim_end();
    let rows = codes.lines().map(|line| {
        let (code, what) = line.trim().split_once(' ').unwrap();
        format!("| {code} | {} |\n", what.trim())
    });
    let table = format!("| Exit code | What |\n|---|---|\n{}\n", rows.collect::<String>());
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/command-line.md");
    assert!(std::fs::read_to_string(page).unwrap().contains(&table), "docs/command-line.md should have:\n\n{table}");
}

#[test]
fn help_completions_and_manual_are_made_of_the_same() {
    let (folder, path) = data("user-help");
    let help = good(&path, &["--help"]);
    for part in
        ["Ask a server:", "Be an agent:", "Run a server:", "check ", "admin ", "Examples:", "Exit codes:", "\n  10 "]
    {
        assert!(help.contains(part), "{part}: {help}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    let check = good(&path, &["check", "--help"]);
    let at = |part: &str| check.find(part).unwrap_or_else(|| panic!("{part}: {check}"));
    assert!(at("--as-of") < at("--url") && at("--url") < at("Examples:") && at("Examples:") < at("Exit codes:"));
    assert!(!check.contains("--data") && !check.contains("--admin-key"), "{check}");
    let create = good(&path, &["keys", "create", "--help"]);
    assert!(create.find("--tier").unwrap() < create.find("Global options:").unwrap(), "{create}");
    // The old names lead nowhere else.
    for old in ["incidents", "agents", "forecast"] {
        let told = run(&path, &[old, "list"]);
        let error = String::from_utf8(told.stderr).unwrap();
        assert!(told.status.code() == Some(2) && error.contains("heliograph admin"), "{error}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = good(&path, &["completions", shell]);
        assert!(script.contains("heliograph") && script.contains("as-of"), "{shell}");
    }
    let page = good(&path, &["man", "agent", "send"]);
    assert!(page.contains(".TH heliograph-agent-send 1") && page.contains("reply"), "{page}");
    assert!(page.contains(concat!("\"heliograph ", env!("CARGO_PKG_VERSION"), "\"")), "{page}");
    assert!(good(&path, &["man", "serve"]).contains("HELIOGRAPH_DATA"), "a page names the variables");
    let pages = folder.path().join("man1");
    good(&path, &["man", "--folder", pages.to_str().unwrap()]);
    let written: Vec<PathBuf> = std::fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(written.len() > 60 && pages.join("heliograph-admin-incidents-amend.1").exists(), "{written:?}");
    let all = std::fs::read_to_string(pages.join("heliograph.1")).unwrap();
    assert!(all.contains(".SH \"EXIT STATUS\"") && all.contains("heliograph check telegram KE"), "{all}");
    assert_eq!(run(&path, &["man", "nothing"]).status.code(), Some(2));
    assert!(!path.exists(), "none of this makes a data file");
}

/// The kind of a file is what people forget first.
#[test]
fn an_import_without_a_kind_says_what_the_file_looks_like() {
    let (folder, path) = data("user-import");
    let file = folder.file("list.csv");
    std::fs::write(&file, "url,category_code,notes\nhttps://a.example/,NEWS,x\n").unwrap();
    let file = file.to_str().unwrap();
    for arguments in [&["import", file][..], &["import", "lists", file], &["import", "--dry-run", file, file]] {
        let said = Said::from(run(&path, arguments));
        let tip = format!("{file} looks like `test-list`: heliograph import test-list {file}");
        assert!(said.code == 2 && said.error.contains(&tip), "{arguments:?}: {said:?}");
    }
    let nothing = Said::from(run(&path, &["import", "nothing-there"]));
    assert!(nothing.code == 2 && !nothing.error.contains("looks like"), "{nothing:?}");
    assert!(!path.exists());
    good(&path, &["import", "test-list", file]);
}
