//! Checks of all sources: a layer imports only from those below it, and everything that a comment refers to is in the
//! repository.
//!
//! | Module | What |
//! |---|---|
//! | `circles` | modules of one package that import each other in circles |
//! | `layers` | imports between the layers of the core |
//! | `references` | decisions and files that comments name |
//! | `sentences` | codes of sentences, in the sources and in the table |

mod circles;
mod layers;
mod references;
mod sentences;

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository")
}

/// Files with one of these endings in a folder and its subfolders, in order.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let made = ["target", "node_modules", "build"].contains(&name) || name.starts_with('.');
            if path.is_dir() {
                waiting.extend(Some(path).filter(|_| !made));
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}
