//! `wasm-bindgen <input> --out-dir DIR --out-name NAME --target module ...`: accepts the flags that worker-build 0.8
//! passes, and the target of the client library. An unknown flag is an error, so that a new worker-build cannot be misunderstood silently.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wasm-bindgen: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: impl Iterator<Item = String>) -> Result<(), String> {
    let mut bindgen = Bindgen::new();
    let mut out_dir = None;
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--version" | "-V" => {
                println!("wasm-bindgen {}", env!("CARGO_PKG_VERSION"));
                return Ok(());
            }
            "--out-dir" => out_dir = Some(value()?),
            "--out-name" => {
                bindgen.out_name(&value()?);
            }
            "--target" => match value()?.as_str() {
                "module" => {
                    bindgen.module(true).map_err(|error| error.to_string())?;
                }
                "web" => {
                    bindgen.web(true).map_err(|error| error.to_string())?;
                }
                other => return Err(format!("target {other} is not supported")),
            },
            "--remove-name-section" => {
                bindgen.remove_name_section(true);
            }
            "--no-typescript" => {
                bindgen.typescript(false);
            }
            "--no-demangle" => {
                bindgen.demangle(false);
            }
            "--debug" => {
                bindgen.debug(true);
            }
            "--keep-debug" => {
                bindgen.keep_debug(true);
            }
            "--experimental-reset-state-function" => {
                bindgen.reset_state_function(true);
            }
            "--force-enable-abort-handler" => {
                bindgen.force_enable_abort_handler(true);
            }
            other if other.starts_with('-') => return Err(format!("unknown flag {other}")),
            input => {
                bindgen.input_path(input);
            }
        }
    }
    let out_dir = out_dir.ok_or("--out-dir is missing")?;
    bindgen.generate(out_dir).map_err(|error| format!("{error:#}"))
}
