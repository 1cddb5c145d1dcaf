//! Commands for users do the same on both runtimes: the program asks the native server and the Worker.

use std::path::Path;
use std::process::Command;

use heliograph_tests::process::built;
use heliograph_tests::target::{Kind, Target};
use serde_json::Value;

/// A user whose profiles are in a folder, and a server.
struct User<'a> {
    folder: &'a Path,
    base: &'a str,
}

impl User<'_> {
    #[track_caller]
    fn says(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new(built("heliograph"));
        command.args(arguments).env("HELIOGRAPH_URL", self.base).env("XDG_CONFIG_HOME", self.folder);
        let output = command.env_remove("HELIOGRAPH_PROFILE").output().unwrap();
        let said = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.code().unwrap(), String::from_utf8(said).unwrap())
    }

    /// The one JSON value that a command must write.
    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let (code, said) = self.says(&[arguments, &["--json"]].concat());
        assert_eq!(code, 0, "{arguments:?}: {said}");
        serde_json::from_str(&said).unwrap()
    }
}

fn asks(user: &User) {
    let answer = user.json(&["check", "youtube.com", "CN"]);
    assert_eq!((answer["status"].as_str(), answer["country"].as_str()), (Some("blocked"), Some("CN")));
    assert_eq!(user.says(&["check", "youtube.com", "CN", "--exit-code"]).0, 10);
    let (code, said) = user.says(&["check", "youtube.com", "Atlantis"]);
    assert!(code == 4 && said.contains("BAD_REQUEST"), "{code} {said}");
    assert_eq!(user.json(&["country", "CN"])["country"], "CN");
    assert!(user.json(&["claim", "YouTube is blocked in China"])["verdict"].is_string());
}

fn writes_and_pays(user: &User) {
    let ada = user.json(&["agent", "register", "--name", "ada"])["did"].as_str().unwrap().to_owned();
    let bob =
        user.json(&["agent", "register", "--name", "bob", "--profile", "bob"])["did"].as_str().unwrap().to_owned();
    let (code, said) = user.says(&["agent", "register", "--name", "ada", "--profile", "third"]);
    assert!(code == 4 && said.contains("CONFLICT"), "{code} {said}");
    let (_, said) = user.says(&["profile", "list"]);
    assert!(said.contains("bob") && !said.contains("third"), "a refused registration leaves no profile: {said}");
    assert_eq!(user.json(&["agent", "send", &bob, "Hello, Bob"])["client_side"], true);
    let heard = user.json(&["agent", "listen", "--count", "1", "--profile", "bob"]);
    assert_eq!((heard["text"].as_str(), heard["from"].as_str()), (Some("Hello, Bob"), Some(ada.as_str())));
    // What comes while it listens comes by the stream.
    let mut listening = Command::new(built("heliograph"));
    listening.args(["agent", "listen", "--count", "1", "--json"]).env("HELIOGRAPH_URL", user.base);
    let listening = listening.env("XDG_CONFIG_HOME", user.folder).stdout(std::process::Stdio::piped()).spawn().unwrap();
    user.json(&["agent", "send", &ada, "Hello, Ada", "--sealed", "--profile", "bob"]);
    let heard = String::from_utf8(listening.wait_with_output().unwrap().stdout).unwrap();
    assert!(heard.contains("Hello, Ada"), "{heard}");

    let (code, said) = user.says(&["pay", "balance"]);
    assert!(code == 4 && said.contains("pay grant"), "{code} {said}");
    let granted = user.json(&["pay", "grant"])["new_balance_micro"].as_i64().unwrap();
    user.json(&["pay", "grant", "--profile", "bob"]);
    let paid = user.json(&["pay", "send", &bob, "0.25", "--memo", "thanks"]);
    assert_eq!(paid["sender_new_balance_micro"], granted - 250_000);
    assert_eq!(user.json(&["pay", "balance"])["balance_micro"], granted - 250_000);
    assert_eq!(user.says(&["pay", "send", &bob, "999999"]).0, 4);
    let (code, said) = user.says(&["pay", "offers"]);
    assert!(code == 0 && said.contains("Nobody offers that."), "{said}");
}

#[test]
fn commands_for_users_work_on_every_runtime() {
    for kind in Kind::chosen().into_iter().filter(|kind| *kind != Kind::Memory) {
        println!("{}", kind.name());
        let (target, folder) = (Target::start(kind, &[]), tempfile::tempdir().unwrap());
        let user = User { folder: folder.path(), base: target.base().unwrap() };
        asks(&user);
        writes_and_pays(&user);
    }
}
