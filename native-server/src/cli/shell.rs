//! `heliograph completions` and `heliograph man`: both are made of the flags and their help.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use super::args::help;
use super::exit::Failure;
use crate::files::Tried;

pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "heliograph", &mut script);
    write_out!("{}", String::from_utf8_lossy(&script));
    Ok(())
}

pub fn man(path: &[String], folder: Option<&PathBuf>) -> Result<(), Failure> {
    let mut command = help::command();
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(|error| Tried::Write.cannot(folder, &error))?;
        let written = pages(&command, &mut Vec::new(), folder)?;
        say!("{written} pages are in {}", folder.display());
        return Ok(());
    }
    for part in path {
        let below = command.find_subcommand(part).cloned();
        command = below.ok_or_else(|| Failure::usage(format!("there is no command `{}`", path.join(" "))))?;
    }
    write_out!("{}", String::from_utf8_lossy(&page(&command, path)?));
    Ok(())
}

/// The name of a page.
fn name(path: &[String]) -> String {
    [&["heliograph".to_owned()], path].concat().join("-")
}

fn page(command: &Command, path: &[String]) -> Result<Vec<u8>, Failure> {
    // Subcommands have no version of their own.
    let source = concat!("heliograph ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).title(name(path)).source(source).manual("Heliograph");
    let mut page = Vec::new();
    let mut write = || {
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if command.has_subcommands() {
            man.render_subcommands_section(&mut page)?;
        }
        // Lines that stay as they are; the library would fill them like a text.
        let examples = help::shown(command, path).join("\n");
        for (heading, lines) in [("EXAMPLES", examples.as_str()), ("EXIT STATUS", &help::codes(path))] {
            writeln!(page, ".SH \"{heading}\"\n.nf")?;
            lines
                .lines()
                .try_for_each(|line| writeln!(page, "\\&{}", line.replace('\\', "\\e").replace('-', "\\-")))?;
            writeln!(page, ".fi")?;
        }
        std::io::Result::Ok(())
    };
    write().map_err(|error| error.to_string())?;
    Ok(page)
}

/// Writes the page of a command and of those below it; returns how many.
fn pages(command: &Command, path: &mut Vec<String>, folder: &Path) -> Result<usize, Failure> {
    let file = folder.join(format!("{}.1", name(path)));
    std::fs::write(&file, page(command, path)?).map_err(|error| Tried::Write.cannot(&file, &error))?;
    let mut written = 1;
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        path.push(below.get_name().to_owned());
        written += pages(below, path, folder)?;
        path.pop();
    }
    Ok(written)
}
