//! The programs of `README.md` and `examples` run as they are, in every language, against real servers. Languages whose
//! package was not built (`cargo xtask client`) are skipped, and so is the browser where there is none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use common::Server;
use heliograph_client::ledger::CREDIT;
use heliograph_client::ledger::envelope::Page;
use heliograph_client::ledger::market::Offer;
use heliograph_client::relay::Authentication;
use heliograph_client::store::FileStore;
use heliograph_client::{Agent, Filter, Registration};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The first block in this language of the README.
fn block(language: &str) -> String {
    let readme = std::fs::read_to_string(root().join("client/README.md")).unwrap();
    let start = readme.split(&format!("```{language}\n")).nth(1).expect("a block");
    let block = start.split("```").next().unwrap().to_owned();
    assert!(
        block.lines().filter(|line| !line.is_empty()).count() <= 15,
        "{language}: a quick start has at most 15 lines"
    );
    block
}

#[track_caller]
fn said(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// What was built by `cargo xtask client`.
fn built(name: &str) -> Option<PathBuf> {
    let path = root().join("target/client").join(name);
    if !path.exists() {
        println!("skipped: {} is not built; `cargo xtask client` builds it", path.display());
        return None;
    }
    Some(path)
}

/// A folder in which Node finds the package.
fn node_folder(package: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let modules = folder.path().join("node_modules");
    std::fs::create_dir_all(&modules).unwrap();
    copy(package, &modules.join("heliograph-client"));
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// The newest wheel: of the folder that `HELIOGRAPH_CLIENT_WHEELS` names, else of those for users.
fn wheel() -> Option<PathBuf> {
    let folder = match std::env::var_os("HELIOGRAPH_CLIENT_WHEELS").map(PathBuf::from) {
        None => built("python")?,
        Some(folder) if folder.exists() => folder,
        Some(folder) => {
            println!("skipped: there are no wheels in {}", folder.display());
            return None;
        }
    };
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let wheel = files.filter(|path| path.extension().is_some_and(|ending| ending == "whl")).max();
    if wheel.is_none() {
        println!("skipped: {} has no wheel; `cargo xtask client` builds it", folder.display());
    }
    wheel
}

/// A Python with the package in a folder of its own.
fn python(wheel: &Path, folder: &Path) -> Command {
    let packages = folder.join("packages");
    if !packages.exists() {
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--target"];
        said(Command::new("python3").args(pip).arg(&packages).arg(wheel));
    }
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", &packages).current_dir(folder);
    command
}

#[test]
fn the_quick_start_in_rust_runs_as_it_is_written() {
    let example = std::fs::read_to_string(root().join("client/examples/start.rs")).unwrap();
    assert_eq!(block("rust"), example);
    let mut program = std::env::current_exe().unwrap();
    program.pop();
    program.pop();
    let program = program.join("examples/start");
    for server in Server::each() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let mut program = Command::new(&program);
            assert_eq!(said(program.arg(&server.base).current_dir(folder.path())), "Hello Bob Signed\n");
        }
    }
}

#[test]
fn the_quick_start_in_node_runs_as_it_is_written() {
    let Some(package) = built("js") else { return };
    for server in Server::each() {
        let folder = node_folder(&package);
        std::fs::write(folder.path().join("start.mjs"), block("js")).unwrap();
        for _ in 0..2 {
            let mut node = Command::new("node");
            node.args(["start.mjs", &server.base]).current_dir(folder.path());
            assert_eq!(said(&mut node), "Hello Bob signed\n");
        }
    }
}

#[test]
fn the_quick_start_in_python_runs_as_it_is_written() {
    let Some(wheel) = wheel() else { return };
    for server in Server::each() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("start.py"), block("python")).unwrap();
        for _ in 0..2 {
            let mut python = python(&wheel, folder.path());
            assert_eq!(said(python.args(["start.py", &server.base])), "Hello Bob signed\n");
        }
    }
}

/// Serves the files of a folder to a browser until the test ends. What the page asks for under `/said/` is what it has to
/// say.
fn serve(folder: PathBuf) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (sender, said) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, folder, sender) = (stream.unwrap(), folder.clone(), sender.clone());
            std::thread::spawn(move || answer(stream, &folder, &sender));
        }
    });
    (base, said)
}

fn answer(mut stream: TcpStream, folder: &Path, said: &Sender<String>) {
    let (mut head, mut piece) = (Vec::new(), [0; 2048]);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(read) => head.extend_from_slice(&piece[..read]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split([' ', '?']).nth(1).unwrap_or("/").trim_start_matches('/').to_owned();
    if let Some(text) = path.strip_prefix("said/") {
        let _ = said.send(percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned());
    }
    let body = std::fs::read(folder.join(&path));
    let status = if body.is_ok() { "200 OK" } else { "404 Not Found" };
    let body = body.unwrap_or_default();
    let kind = match path.rsplit('.').next() {
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        _ => "text/html",
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

/// Tells what the page shows, or what went wrong in it.
const WATCH: &str = "<script>
  const say = (text) => fetch('/said/' + encodeURIComponent(text));
  addEventListener('error', (event) => say(event.message));
  addEventListener('unhandledrejection', (event) => say(String(event.reason)));
  setInterval(() => document.body.innerText.trim() && say(document.body.innerText.trim()), 200);
</script>";

/// What the page `start.html` shows, in a browser that finds the package beside the pages; `None` where there is no browser.
fn shown(pages: &[(&str, &str)], query: &str) -> Option<String> {
    let browser = std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("/usr/bin/chromium"), PathBuf::from);
    let package = built("js")?;
    if !browser.exists() {
        println!("skipped: there is no {}", browser.display());
        return None;
    }
    let (folder, profile) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy(&package, &folder.path().join("heliograph-client"));
    for (name, text) in pages {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let (base, said) = serve(folder.path().to_owned());
    let mut running = Command::new(&browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-port=0",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("{base}/start.html{query}"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let shown = said.recv_timeout(Duration::from_secs(60));
    let _ = running.kill();
    let _ = running.wait();
    Some(shown.unwrap())
}

#[test]
fn the_quick_start_in_a_browser_runs_as_it_is_written() {
    let server = Server::native();
    let page = format!("<!doctype html><body>{WATCH}{}</body>", block("html"));
    let Some(shown) = shown(&[("start.html", &page)], &format!("?relay={}", server.base)) else { return };
    assert_eq!(shown, "Hello Bob signed");
}

/// Writes to a store of the kind `STORE`, while another page tries to read it, and after this one has closed it.
const WRITER: &str = "<script type=module>
  import { STORE } from './heliograph-client/browser.js';
  const frame = document.createElement('iframe');
  const other = () => new Promise((resolve) => {
    addEventListener('message', (event) => resolve(event.data), { once: true });
    frame.src = 'frame.html';
    document.body.append(frame);
  });
  const store = new STORE('one');
  await store.write('name', new Uint8Array([7]));
  const said = [await other()];
  await store.close();
  said.push(await store.read('name').catch((error) => error.message), await other());
  document.body.append(said.join('; '));
</script>";

const READER: &str = "<!doctype html><script type=module>
  import { STORE } from './heliograph-client/browser.js';
  const read = new STORE('one').read('name');
  read.then(String, (error) => error.message).then((text) => parent.postMessage(text));
</script>";

#[test]
fn a_place_of_the_browser_belongs_to_one_page_at_a_time() {
    for store in ["IndexedDbStore", "LocalStore"] {
        let page = format!("<!doctype html><body>{WATCH}{}</body>", WRITER.replace("STORE", store));
        let pages = [("start.html", page.as_str()), ("frame.html", &READER.replace("STORE", store))];
        let Some(shown) = shown(&pages, "") else { return };
        assert_eq!(
            shown, "another page, or another store of this one, uses one; the store of one is closed; 7",
            "{store}"
        );
    }
}

#[test]
fn agents_on_other_cryptography_and_agents_of_the_library_understand_each_other() {
    let Some(package) = built("js") else { return };
    let folder = root().join("tests/interop");
    if !folder.join("node_modules").exists() {
        println!("skipped: `cargo xtask test` installs what {} needs", folder.display());
        return;
    }
    for server in Server::each() {
        let mut node = Command::new("node");
        let said = said(node.arg(folder.join("library.mjs")).arg(&server.base).arg(&package));
        assert_eq!(said.lines().filter(|line| line.starts_with("ok ")).count(), 21, "{said}");
    }
}

fn node(package: &Path, server: &Server) -> Command {
    let mut node = Command::new("node");
    node.arg(root().join("client/js/tests/package.mjs")).arg(&server.base).arg(package);
    node
}

#[test]
fn the_package_for_javascript_fails_and_ends_as_it_should() {
    let Some(package) = built("js") else { return };
    for server in Server::each() {
        let folder = tempfile::tempdir().unwrap();
        let said = said(node(&package, &server).arg("all").arg(folder.path().join("agent")));
        assert_eq!(said.lines().filter(|line| line.starts_with("ok ")).count(), 11, "{said}");
    }
}

#[test]
fn a_folder_belongs_to_one_program_in_whichever_language() {
    let Some(package) = built("js") else { return };
    let (server, folder) = (Server::native(), tempfile::tempdir().unwrap());
    let path = folder.path().join("agent");
    let hold = || {
        let mut holding = node(&package, &server).arg("hold").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(holding.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        holding
    };
    let refused = || {
        let output = node(&package, &server).arg("hold").arg(&path).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("another program uses"), "{text}");
    };
    let mut holding = hold();
    refused();
    assert!(FileStore::new(&path).is_err(), "Node has it");
    holding.kill().unwrap();
    holding.wait().unwrap();
    let store = FileStore::new(&path).expect("what a dead program left does not hold the folder");
    refused();
    drop(store);
    let mut holding = hold();
    holding.kill().unwrap();
    holding.wait().unwrap();
}

#[test]
fn every_name_of_the_package_for_python_is_documented() {
    let Some(wheel) = wheel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut python = python(&wheel, folder.path());
    assert_eq!(said(python.arg(root().join("client/python/tests/documented.py"))), "documented\n");
}

/// What others wrote, which `client/examples/package.json` and `requirements.txt` list; says so if it is missing.
fn third_party(path: &str) -> Option<PathBuf> {
    let path = root().join(path);
    if !path.exists() {
        println!("skipped: {} is missing; `cargo xtask client` installs it", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn tools_for_language_models_run_in_python() {
    let (Some(wheel), Some(environment)) = (wheel(), third_party("target/client/python_packages")) else { return };
    let (server, folder) = (Server::native(), tempfile::tempdir().unwrap());
    let mut python = python(&wheel, folder.path());
    let own = folder.path().join("packages");
    let paths = std::env::join_paths([own, environment]).unwrap();
    python.env("PYTHONPATH", paths).arg(root().join("client/examples/tools.py")).args([&server.base, "agent"]);
    assert_eq!(said(&mut python), "a note to myself\n");
}

#[test]
fn tools_for_language_models_compile_and_run_in_typescript() {
    let (Some(package), Some(modules)) = (built("js"), third_party("client/examples/node_modules")) else { return };
    let server = Server::native();
    // The package is found beside what others wrote.
    copy(&package, &modules.join("heliograph-client"));
    let out = tempfile::tempdir_in(&modules).unwrap();
    let mut compile = Command::new(modules.join(".bin/tsc"));
    compile
        .args(["--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext"])
        .args(["--types", "node", "--skipLibCheck", "--outDir"])
        .arg(out.path())
        .arg("tools.ts")
        .current_dir(root().join("client/examples"));
    said(&mut compile);
    let made = out.path().join("tools.js");
    std::fs::rename(&made, made.with_extension("mjs")).unwrap();
    let mut node = Command::new("node");
    node.arg(made.with_extension("mjs")).args([&server.base, "agent"]).current_dir(out.path());
    assert_eq!(said(&mut node), "a note to myself\n");
}

async fn provider(server: &Server, folder: &Path) -> Agent {
    server.client().open_or_register(FileStore::new(folder).unwrap(), Registration::default()).await.unwrap()
}

#[tokio::test]
async fn an_agent_in_python_pays_one_in_rust_for_work_over_a_restart_of_the_server() {
    let Some(wheel) = wheel() else { return };
    let (mut server, folder) = (Server::native(), tempfile::tempdir().unwrap());
    let path = folder.path().join("rust");
    let agent = provider(&server, &path).await;
    agent.list_offer(&Offer::new("example.upper", "Capital letters", 2 * CREDIT)).await.unwrap();
    let script = root().join("client/examples/work.py");
    let did = agent.did();
    let run = |base: &str| {
        let mut python = python(&wheel, folder.path());
        said(python.arg(&script).args([base, "python", &did]))
    };
    assert_eq!(run(&server.base), "hired\n");

    let asked = agent.receive(&Filter::default()).await.unwrap().messages;
    assert_eq!((asked.len(), asked[0].authentication), (1, Authentication::Signed));
    assert!(asked[0].text.starts_with("I hired you: "), "{asked:?}");
    drop(agent);
    server.kill();
    server.run();

    // Everything that both know is in their folders and in the deployment.
    let agent = provider(&server, &path).await;
    let hire = agent.incoming_hires(None, &Page::default()).await.unwrap().hires.remove(0);
    assert_eq!(hire.input_json.as_deref(), Some("{\"text\":\"hello\"}"));
    agent.deliver(&hire, "HELLO", Duration::from_secs(3_600)).await.unwrap();
    let answer = heliograph_client::Draft::to(&hire.requester_did, "It is done").thread(&hire.id);
    agent.send(&answer).await.unwrap();
    agent.mark_read(&[&asked[0].id]).await.unwrap();
    assert_eq!(run(&server.base), format!("answered It is done signed\npaid True {}\n", 8 * CREDIT));
    assert_eq!(agent.wallet().await.unwrap().balance_micro, 2 * CREDIT);
    let thanks = agent.receive(&Filter::default()).await.unwrap().messages;
    assert_eq!((thanks[0].text.as_str(), thanks[0].thread_id.as_deref()), ("Thank you", Some(hire.id.as_str())));
}
