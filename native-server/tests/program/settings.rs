//! Settings: the file that a new operator begins with, what is wrong with one, and what changes while the server runs.

use serde_json::json;

use super::operating::{hang_up, line, logged, text_of, with_config};
use super::{bad, data, get, good, heliograph, post, run};

#[test]
fn a_new_settings_file_is_right_as_it_is() {
    let (folder, path) = data("init");
    let text = good(&path, &["config", "init"]);
    assert!(text.contains("\n# listen = \"127.0.0.1:8787\"\n") && text.contains("\n# stream_seconds = 30\n"), "{text}");
    let file = folder.file("new.toml");
    std::fs::write(&file, &text).unwrap();
    let name = file.to_str().unwrap();
    assert_eq!(good(&path, &["config", "check", name]), format!("{name} is right\n"));
    assert_eq!(good(&path, &["--config", name, "config"]), good(&path, &["config"]));
}

#[test]
fn every_mistake_of_a_file_is_told_at_once_also_those_of_files_that_it_names() {
    let (folder, path) = data("check");
    let file = folder.file("wrong.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        bad(&path, &["config", "check", file.to_str().unwrap()])
    };
    let told = check("acess_log = true\nstreams = 0\n");
    assert!(told.contains("line 1: there is no setting named `acess_log`; the nearest is `access_log`\n"), "{told}");
    assert!(told.contains("line 2: streams must be at least 1\n"), "{told}");
    assert!(told.ends_with("wrong.toml has mistakes to mend\n"), "{told}");
    let told = check("vectors_file = \"/nowhere/v\"\ntls_certificate = \"/nowhere/c\"\n");
    assert!(
        told.contains("vectors_file: cannot read /nowhere/v: ") && told.contains("tls_certificate needs tls_key"),
        "{told}"
    );
}

#[test]
fn a_variable_that_is_no_setting_is_told_at_the_start() {
    let (_folder, path) = data("variable");
    let mut command = heliograph(&path);
    command.args(["--listen", "nowhere:0"]).env("HELIOGRAPH_LISTN", "127.0.0.1:0");
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(" WARN heliograph::cli::serve the variable HELIOGRAPH_LISTN has no effect: "), "{told}");
    assert!(told.contains("cannot listen on nowhere:0: "), "{told}");
    let (_folder, path, config) = with_config("variable", "log_level = \"warn\"\n");
    let mut command = heliograph(&path);
    let output =
        command.args(["config", "check", config.to_str().unwrap()]).env("HELIOGRAPH_LISTN", "x").output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "warning: the variable HELIOGRAPH_LISTN has no effect: there is no setting named `listn`; the nearest is \
         `listen`\n"
    );
    assert!(run(&path, &["config"]).status.success());
}

/// Decision commands-on-servers.
#[test]
fn the_settings_of_a_running_server_are_shown_without_secrets_and_can_be_read_back() {
    let text = "admin_key = \"operator-key-canary\"\nagent_burst = 77\n";
    let (_folder, path, config) = with_config("remote", text);
    let (server, _lines) = logged(&path, &config);
    let shown = |key: &str| {
        let mut command = heliograph(&path);
        command.args(["config", "--to", &server.base, "--admin-key", key]).output().unwrap()
    };
    let listing = String::from_utf8(shown("operator-key-canary").stdout).unwrap();
    assert!(listing.contains("\nagent_burst = 77  # from the server's file, environment or flags\n"), "{listing}");
    assert!(listing.contains("\nbrand = \"svc\"  # from default\n"), "{listing}");
    assert!(listing.contains("\n# admin_key (set)  # from ") && !listing.contains("canary"), "{listing}");
    let refused = shown("another");
    assert!(!refused.status.success());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("the operator key was refused"));
    std::fs::write(&config, &listing).unwrap();
    let name = config.to_str().unwrap();
    assert_eq!(good(&path, &["config", "check", name]), format!("{name} is right\n"));
}

/// Decision hangup-reloads.
#[test]
fn limits_and_keys_change_while_the_server_runs_and_no_secret_is_told() {
    let (_folder, path, config) = with_config("live", "admin_key = \"first-operator-key\"\nagent_burst = 100\n");
    let (server, lines) = logged(&path, &config);
    line(&lines, "open files: ");
    let admin = |key: &str| get(&format!("{}/v1/admin/db", server.base), ("x-admin-key", key)).0;
    let (_, agent) = post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({}));
    let key = agent["api_key"].as_str().unwrap();
    let asked = |times: usize| {
        let ask = |_| get(&format!("{}/v1/agent/messages/unread-count", server.base), ("x-agent-key", key)).0;
        (0..times).map(ask).filter(|status| *status == 429).count()
    };
    assert_eq!((admin("first-operator-key"), admin("second-operator-key"), asked(20)), (200, 401, 0));
    let text =
        "admin_key = \"second-operator-key\"\nagent_burst = 2\nagent_per_second = 1\ndemo_key = \"other_demo\"\n";
    std::fs::write(&config, text).unwrap();
    hang_up(&server);
    let told = line(&lines, "settings read again");
    assert!(told.contains("admin_key, ") && !told.contains("operator-key"), "{told}");
    assert!(told.contains("agent_burst from \"100\" to \"2\""), "{told}");
    assert_eq!((admin("first-operator-key"), admin("second-operator-key")), (401, 200));
    assert!(asked(20) > 5);
    let detect = |key: &str| {
        let body = json!({ "country": "CN", "target": "youtube.com" });
        post(&format!("{}/hydra/v1/detect", server.base), ("x-api-key", key), &body).0
    };
    assert_eq!((detect("svc_demo"), detect("other_demo")), (401, 200));
    // Without the setting the generated key of the key file counts again.
    std::fs::write(&config, "closed = true\n").unwrap();
    hang_up(&server);
    line(&lines, "settings read again");
    let generated = heliograph::keyfile::read(&path).unwrap().admin_key;
    assert_eq!((admin("second-operator-key"), admin(&generated)), (401, 200));
    let register = || post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({})).0;
    assert_eq!(register(), 503);
    std::fs::write(&config, "").unwrap();
    hang_up(&server);
    line(&lines, "settings read again");
    assert_eq!(register(), 201);
    assert_eq!(text_of(&format!("{}/readyz", server.base), None).0, 200);
}
