//! An image for containers, from nothing: the program, what it loads, and a user. It is an archive in the layout of OCI
//! (image-spec 1.1), which `podman load`, `docker load` and `skopeo` read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{Made, executable};
use crate::project::{read, write};
use crate::run::{Result, output, tool};

/// The user of the image; any number that no other service of the host has.
const USER: &str = "64787";

/// What the image is called once it is loaded.
const NAME: &str = concat!("heliograph:", env!("CARGO_PKG_VERSION"));

/// Makes the image; returns the name of its file.
pub fn image(made: &Made<'_>) -> Result<String> {
    let tree = made.dist.join("image");
    let (root, layout) = (tree.join("root"), tree.join("layout"));
    fill(&root, made.program)?;
    let layer = tree.join("layer.tar");
    archive(&root, &layer, made.time)?;
    // Only this folder is the user's.
    let owner = format!("--owner={USER}");
    let mut tar = Command::new("tar");
    tar.args(["--append", "--format=ustar", &owner, &format!("--group={USER}"), "--numeric-owner", "--mode=0700"]);
    tar.arg(format!("--mtime=@{}", made.time)).arg("--file").arg(&layer);
    fs::create_dir_all(tree.join("own/data")).map_err(|error| error.to_string())?;
    tool("tar", tar.arg("--directory").arg(tree.join("own")).arg("./data"))?;
    let layer = stored(&layout, &read(&layer)?)?;
    let config = config(made, &layer.0);
    let config = stored(&layout, config.to_string().as_bytes())?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described("application/vnd.oci.image.config.v1+json", &config),
        "layers": [described("application/vnd.oci.image.layer.v1.tar", &layer)],
    });
    let mut entry =
        described("application/vnd.oci.image.manifest.v1+json", &stored(&layout, manifest.to_string().as_bytes())?);
    entry["annotations"] = json!({ "org.opencontainers.image.ref.name": NAME });
    write(&layout.join("index.json"), json!({ "schemaVersion": 2, "manifests": [entry] }).to_string())?;
    write(&layout.join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    let name = format!("heliograph_{}_{}.oci.tar", env!("CARGO_PKG_VERSION"), made.architecture);
    archive(&layout, &made.dist.join(&name), made.time)?;
    fs::remove_dir_all(&tree).map_err(|error| error.to_string())?;
    Ok(name)
}

/// Puts into the root what the program needs, and nothing else: there is no shell in it.
fn fill(root: &Path, program: &Path) -> Result<()> {
    executable(&root.join("usr/bin/heliograph"), read(program)?)?;
    for library in loaded(program)? {
        let inside = root.join(library.strip_prefix("/").unwrap_or(&library));
        executable(&inside, read(&library)?)?;
    }
    write(&root.join("etc/passwd"), format!("heliograph:x:{USER}:{USER}::/data:/usr/bin/heliograph\n"))?;
    write(&root.join("etc/group"), format!("heliograph:x:{USER}:\n"))
}

/// The libraries that the program loads, and what loads them; none of a static one.
fn loaded(program: &Path) -> Result<Vec<PathBuf>> {
    let asked = Command::new("ldd").arg(program).output().map_err(|error| format!("cannot start ldd: {error}"))?;
    // It fails where there is nothing to load.
    Ok(listed(&String::from_utf8_lossy(&asked.stdout)))
}

/// Lines such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00)` and `/lib64/ld-linux-x86-64.so.2 (0x00)`.
fn listed(text: &str) -> Vec<PathBuf> {
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    text.lines().filter_map(path).collect()
}

/// An archive whose bytes follow from names, contents and the time alone.
fn archive(folder: &Path, to: &Path, time: &str) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg("--mode=u+rwX,go+rX,go-w").arg(format!("--mtime=@{time}")).arg("--file").arg(to);
    tool("tar", tar.arg("--directory").arg(folder).arg("."))
}

/// Puts bytes among the blobs; returns their digest and their number.
fn stored(layout: &Path, bytes: &[u8]) -> Result<(String, usize)> {
    let draft = layout.join("blobs/sha256/draft");
    write(&draft, bytes)?;
    let sum = output("sha256sum", Command::new("sha256sum").arg(&draft))?;
    let text = String::from_utf8_lossy(&sum).into_owned();
    let digest = text.split_whitespace().next().ok_or("sha256sum says nothing")?;
    fs::rename(&draft, layout.join("blobs/sha256").join(digest)).map_err(|error| error.to_string())?;
    Ok((digest.to_owned(), bytes.len()))
}

fn described(media: &str, (digest, size): &(String, usize)) -> Value {
    json!({ "mediaType": media, "digest": format!("sha256:{digest}"), "size": size })
}

fn config(made: &Made<'_>, layer: &str) -> Value {
    json!({
        "architecture": made.architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Entrypoint": ["/usr/bin/heliograph"],
            "Cmd": ["serve"],
            "Env": ["HELIOGRAPH_DATA=/data/heliograph.redb", "HELIOGRAPH_LISTEN=0.0.0.0:8787"],
            "ExposedPorts": { "8787/tcp": {} },
            "Volumes": { "/data": {} },
            "StopSignal": "SIGTERM",
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_loads_is_read_from_what_ldd_says() {
        let text = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(
            listed(text),
            [PathBuf::from("/lib/x86_64-linux-gnu/libc.so.6"), PathBuf::from("/lib64/ld-linux-x86-64.so.2")]
        );
        assert_eq!(listed("\tstatically linked\n"), Vec::<PathBuf>::new());
    }
}
