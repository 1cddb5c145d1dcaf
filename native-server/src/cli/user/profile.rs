//! `heliograph profile`: named servers, each with the keys of an agent.
//!
//! A profile is a folder that only its owner can read: `profile.json` has the address and the DID, `keys` what the
//! client library keeps of the agent. `current`, beside the folders, names the one that is used without --profile.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use heliograph_client::store::FileStore;
use heliograph_client::{Client, Config};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ask::variable;
use super::transport::Ureq;
use crate::cli::args::user::{Form, ProfileCommand};
use crate::cli::exit::Failure;
use crate::files::Tried;

/// The profile that is used where none is named.
const USUAL: &str = "default";

/// A profile, which may not be written yet.
pub struct Profile {
    pub name: String,
    /// Empty for somebody who has no folder, such as a service: such a profile knows nothing and keeps nothing.
    folder: PathBuf,
    kept: Kept,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    did: Option<String>,
}

/// The folder of all profiles.
fn base() -> Result<PathBuf, Failure> {
    let absolute = |path: String| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let configured = variable("XDG_CONFIG_HOME").and_then(absolute);
    let usual = || match cfg!(windows) {
        true => variable("APPDATA").and_then(absolute),
        false => variable("HOME").and_then(absolute).map(|home| home.join(".config")),
    };
    let folder = configured.or_else(usual).map(|folder| folder.join("heliograph").join("profiles"));
    folder.ok_or_else(|| Failure::usage("there is no folder for profiles; set HOME or XDG_CONFIG_HOME"))
}

/// The profile of this name, or the one in use.
pub fn open(name: Option<&str>) -> Result<Profile, Failure> {
    let name = name.map(str::to_owned).or_else(|| variable("HELIOGRAPH_PROFILE"));
    let base = match (base(), &name) {
        (Ok(base), _) => base,
        (Err(_), None) => {
            return Ok(Profile { name: USUAL.to_owned(), folder: PathBuf::new(), kept: Kept::default() });
        }
        (Err(failure), Some(_)) => return Err(failure),
    };
    Profile::read(&base, &name.unwrap_or_else(|| current(&base)))
}

fn current(base: &Path) -> String {
    let name = std::fs::read_to_string(base.join("current")).unwrap_or_default();
    if name.trim().is_empty() { USUAL.to_owned() } else { name.trim().to_owned() }
}

/// Writes a file that only its owner can read: whole, or not at all.
fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let write = || {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        // A temporary file has the mode 0600 from the beginning.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(folder.join(name)).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error: std::io::Error| Tried::Write.cannot(&folder.join(name), &error).into())
}

impl Profile {
    fn read(base: &Path, name: &str) -> Result<Profile, Failure> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
            let text = format!("{name:?} is no name of a profile: use small letters, digits, `-` and `_`");
            return Err(Failure::usage(text));
        }
        let folder = base.join(name);
        let file = folder.join("profile.json");
        let kept = match std::fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Kept::default(),
            Err(error) => return Err(Tried::Read.cannot(&file, &error).into()),
        };
        Ok(Profile { name: name.to_owned(), folder, kept })
    }

    /// The same, which must have been made.
    fn existing(base: &Path, name: &str) -> Result<Profile, Failure> {
        let profile = Profile::read(base, name)?;
        match profile.folder.is_dir() {
            true => Ok(profile),
            false => Err(Failure::usage(format!("there is no profile `{name}`; `heliograph profile list` shows all"))),
        }
    }

    pub fn url(&self) -> Option<&str> {
        self.kept.url.as_deref()
    }

    pub fn did(&self) -> Option<&str> {
        self.kept.did.as_deref()
    }

    /// Where the agent's keys and sessions are.
    pub fn keys(&self) -> Result<PathBuf, Failure> {
        if self.folder.as_os_str().is_empty() {
            base()?;
        }
        Ok(self.folder.join("keys"))
    }

    /// Remembers the agent and its server.
    pub fn note(&mut self, url: &str, did: &str) -> Result<(), Failure> {
        self.kept = Kept { url: Some(url.to_owned()), did: Some(did.to_owned()) };
        self.save()
    }

    /// Removes what a registration that failed has made. Keys and an address that was set stay.
    pub fn drop_if_empty(&self) {
        let Ok(keys) = self.keys() else { return };
        // Nobody else uses the folder while this holds it.
        let Ok(store) = FileStore::new(&keys) else { return };
        let others = |name: &std::ffi::OsStr| name != "lock" && name != "owner";
        let empty = std::fs::read_dir(&keys)
            .is_ok_and(|mut files| !files.any(|file| file.is_ok_and(|file| others(&file.file_name()))));
        if empty {
            let _ = std::fs::remove_file(keys.join("lock"));
            drop(store);
            // A folder with something in it is not removed.
            let _ = std::fs::remove_dir(&keys);
            let _ = std::fs::remove_dir(&self.folder);
        }
    }

    fn save(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.kept).map_err(|error| error.to_string())?;
        write(&self.folder, "profile.json", &format!("{text}\n"))
    }

    fn set(&mut self, url: &str) -> Result<(), Failure> {
        let client = Client::with(url, Config::default(), Ureq::new()?)?;
        if let (Some(did), Some(before)) = (self.did(), self.url())
            && before != client.base()
        {
            let text = format!("the profile `{}` has the agent {did} at {before}; make another profile", self.name);
            return Err(Failure::usage(text));
        }
        self.kept.url = Some(client.base().to_owned());
        self.save()
    }
}

/// All profiles, by name.
fn all(base: &Path) -> Result<Vec<Profile>, Failure> {
    let folders = match std::fs::read_dir(base) {
        Ok(folders) => folders,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Tried::Read.cannot(base, &error).into()),
    };
    let named = folders.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = named.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.iter().map(|name| Profile::read(base, name)).collect()
}

pub fn run(command: &ProfileCommand) -> Result<(), Failure> {
    let base = base()?;
    match command {
        ProfileCommand::List { form } => list(&base, *form),
        ProfileCommand::Set { name, url } => {
            let mut profile = Profile::read(&base, name)?;
            profile.set(url)?;
            say!("{name} is {}", profile.url().unwrap_or_default());
            Ok(())
        }
        ProfileCommand::Use { name } => {
            Profile::existing(&base, name)?;
            write(&base, "current", &format!("{name}\n"))?;
            say!("{name} is used now");
            Ok(())
        }
        ProfileCommand::Show { name: Some(name), secrets, form } => {
            show(&Profile::existing(&base, name)?, *secrets, *form)
        }
        ProfileCommand::Show { name: None, secrets, form } => show(&open(None)?, *secrets, *form),
        ProfileCommand::Remove { name, yes } => remove(&Profile::existing(&base, name)?, *yes),
    }
}

fn list(base: &Path, form: Form) -> Result<(), Failure> {
    let used = open(None)?.name;
    let row = |profile: Profile| {
        let used = profile.name == used;
        json!({ "name": profile.name, "used": used, "url": profile.url(), "did": profile.did() })
    };
    let rows: Vec<_> = all(base)?.into_iter().map(row).collect();
    let nothing = "There are no profiles yet. `heliograph profile set` and `heliograph agent register` make them.";
    form.list(&rows, &["used", "name", "url", "did"], nothing, |row| {
        let text = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
        vec![if row["used"] == true { "*" } else { "" }.to_owned(), text("name"), text("url"), text("did")]
    })
}

fn show(profile: &Profile, secrets: bool, form: Form) -> Result<(), Failure> {
    let key = secrets.then(|| api_key(profile)).transpose()?;
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let folder = profile.folder.display().to_string();
    let mut answer = json!({ "name": profile.name, "url": profile.url(), "did": profile.did(), "folder": folder });
    let mut fields = vec![
        ("name", profile.name.clone()),
        ("url", text(profile.url())),
        ("did", text(profile.did())),
        ("folder", folder),
    ];
    if let Some(key) = key {
        answer["api_key"] = key.clone().into();
        fields.push(("api key", key));
    }
    form.one(&answer, "", &fields)
}

fn remove(profile: &Profile, yes: bool) -> Result<(), Failure> {
    let name = &profile.name;
    if let (Some(did), false) = (profile.did(), yes) {
        let text = format!("`{name}` has the keys of {did}, which nobody can make again; confirm it with --yes");
        return Err(Failure::usage(text));
    }
    // It fails while another program uses the keys.
    drop(FileStore::new(profile.keys()?)?);
    std::fs::remove_dir_all(&profile.folder).map_err(|error| Tried::Write.cannot(&profile.folder, &error))?;
    say!("removed {name}");
    Ok(())
}

/// The key of the agent, which is in the keys that the client library keeps.
fn api_key(profile: &Profile) -> Result<String, Failure> {
    if profile.did().is_none() {
        return Err(Failure::usage(format!("the profile `{}` has no agent", profile.name)));
    }
    let client = Client::with(profile.url().unwrap_or_default(), Config::default(), Ureq::new()?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    let agent = runtime.block_on(client.open(FileStore::new(profile.keys()?)?))?;
    Ok(agent.api_key().expose().to_owned())
}
