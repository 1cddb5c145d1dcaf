//! Together with programs that operators use: an authority for certificates, proxies, and what watches servers.
//!
//! A program that is not installed is unpacked from Debian's packages into the folder of the build; nothing is
//! installed. Where there are no packages, the tests say that they are skipped.

mod acme;
mod front;
mod watching;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// A process that ends with the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Running(command.stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The path of a program, found or unpacked from these packages; `None` with a notice where there are none.
pub fn program(name: &str, packages: &[&str]) -> Option<PathBuf> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let find = || {
        let unpacked = ["usr/sbin", "usr/bin"].map(|place| folder.join(place).join(name));
        let installed = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map(|place| PathBuf::from(place).join(name));
        unpacked.into_iter().chain(installed).find(|path| path.is_file())
    };
    if let Some(found) = find() {
        return Some(found);
    }
    let downloads = folder.join(name);
    std::fs::create_dir_all(&downloads).unwrap();
    let mut download = Command::new("apt-get");
    // Where nothing answers, the test is skipped soon.
    download.args(["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10"]);
    let done = download.args(["download", "--quiet"]).args(packages).current_dir(&downloads).output();
    if done.is_ok_and(|done| done.status.success()) {
        for file in std::fs::read_dir(&downloads).unwrap().flatten() {
            let _ = Command::new("dpkg-deb").arg("--extract").arg(file.path()).arg(&folder).status();
        }
    }
    let found = find();
    if found.is_none() {
        println!("skipped: {name} is not installed, and Debian's packages are not reachable");
    }
    found
}

/// A port that is free now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
