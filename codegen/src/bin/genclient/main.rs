//! The command `genclient`: reads, calls the library, writes. All input and output is here.

// Whatever can fail is an error that the caller can handle; tests may end with a panic.
#![warn(clippy::unwrap_used)]

mod args;
mod crds;
mod explain;
mod generate;
mod init;
mod list;
mod metadata;
mod package;
mod place;
mod print;
mod report;
mod version;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;
use genclient::{config::Config, model};

use crate::{
    args::{Args, Command},
    report::Failure,
};

/// Something is wrong, and nothing was written.
const ERROR: u8 = 2;
/// The command was asked to end, and has written nothing.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Generate(options) => {
            load_config(&args).and_then(|(config, folder)| generate::run(&folder, &config, options))
        }
        Command::Init(options) => init::run(options),
        Command::List => load_config(&args).and_then(|(config, folder)| run_list(&folder, &config)),
        Command::Explain { attribute } => explain::run(attribute.as_deref()),
    };
    ExitCode::from(result.unwrap_or_else(|failure| {
        failure.print();
        if failure.is_interruption() { INTERRUPTED } else { ERROR }
    }))
}

/// The configuration and the folder that its paths start from.
fn load_config(args: &Args) -> Result<(Config, PathBuf), Failure> {
    let path = match &args.config {
        Some(path) => path.clone(),
        None => find_config()?,
    };
    load(&path)
}

/// The configuration in a file, and the folder of the file.
fn load(path: &Path) -> Result<(Config, PathBuf), Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::message(format!("cannot read the configuration `{}`: {error}", path.display()))
            .help("name it with `--config`, or make one with `genclient init`")
    })?;
    let config = Config::parse(&text).map_err(|error| Failure::config(path, &text, &error))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok((config, folder.unwrap_or(Path::new(".")).to_path_buf()))
}

/// `genclient.toml` in this folder or the nearest one above it.
fn find_config() -> Result<PathBuf, Failure> {
    const NAME: &str = "genclient.toml";
    let here = std::env::current_dir()
        .map_err(|error| Failure::message(format!("cannot find the current folder: {error}")))?;
    let found = here.ancestors().enumerate().find(|(_, folder)| folder.join(NAME).exists());
    match found {
        // The way up from here is what a person would write.
        Some((levels, _)) => Ok(PathBuf::from("../".repeat(levels) + NAME)),
        None => Err(Failure::message(format!("there is no `{NAME}` in this folder or one above it"))
            .help("name it with `--config`, or make one with `genclient init`")),
    }
}

fn run_list(folder: &Path, config: &Config) -> Result<u8, Failure> {
    let mut rows = Vec::new();
    for client in &config.clients {
        let (_, sources) = generate::read(folder, client, true)?;
        match model(&sources) {
            Ok(model) => rows.extend(list::rows(&model, &sources, client)),
            Err(errors) => return Err(Failure::sources(sources, errors)),
        }
    }
    list::print(&rows);
    Ok(0)
}
