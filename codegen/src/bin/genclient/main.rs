//! The command `genclient`: reads, calls the library, writes. All input and output is here.

// Whatever can fail is an error that the caller can handle; tests may end with a panic.
#![warn(clippy::unwrap_used)]

mod args;
mod crds;
mod explain;
mod list;
mod output;
mod report;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;
use genclient::{
    config::{ClientConfig, Config},
    model, render,
    source::{Folder, Sources},
};

use crate::{
    args::{Args, Command, GenerateArgs},
    output::Plan,
    report::Failure,
};

/// Everything is as it should be.
const FINE: u8 = 0;
/// `--check` found generated files that are not what the sources say.
const STALE: u8 = 1;
/// Something is wrong, and nothing was written.
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Generate(generate) => run_generate(&args, generate),
        Command::List => run_list(&args),
        Command::Explain { attribute } => explain::run(attribute.as_deref()),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(ERROR)
        }
    }
}

/// The configuration and the folder that its paths start from.
fn load_config(args: &Args) -> Result<(Config, PathBuf), Failure> {
    let path = &args.config;
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::message(format!("cannot read the configuration `{}`: {error}", path.display()))
            .help("name it with `--config`, or create it; the README shows one")
    })?;
    let config = Config::parse(&text).map_err(|error| Failure::config(path, &text, &error))?;
    let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok((config, base))
}

fn load_sources(base: &Path, client: &ClientConfig) -> Sources {
    Sources::load(&Folder(base.to_path_buf()), &client.sources)
}

fn run_generate(args: &Args, options: &GenerateArgs) -> Result<u8, Failure> {
    let (config, base) = load_config(args)?;
    // Everything is rendered before anything is written, so that an error leaves all as it was.
    let mut plans = Vec::new();
    let mut failure = None;
    for client in &config.clients {
        let sources = load_sources(&base, client);
        match model(&sources) {
            Ok(model) => plans.push((client, render(&model, &config, client), model)),
            Err(errors) => {
                let this = Failure::sources(sources, errors);
                failure = Some(match failure {
                    None => this,
                    Some(before) => Failure::both(before, this),
                });
            }
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let mut plan = Plan::default();
    for (client, mut files, model) in plans {
        let with_crds = options.crds && client.crds;
        if with_crds {
            files.extend(crds::manifests(&base, client, &model, &config.command)?);
        }
        let scope = if with_crds { &["src", "crds"][..] } else { &["src"][..] };
        plan.compare(&base.join(&client.output), Path::new(&client.output), scope, files)?;
    }
    match (options.check, options.dry_run) {
        (true, _) if plan.is_empty() => Ok(FINE),
        (true, _) => {
            plan.print_diff();
            eprintln!("error: the generated files are not what the sources say");
            eprintln!("help: run `{}`", config.command);
            Ok(STALE)
        }
        (_, true) => {
            plan.print_diff();
            plan.print_summary("would be ");
            Ok(FINE)
        }
        _ => {
            plan.write()?;
            plan.print_summary("");
            Ok(FINE)
        }
    }
}

fn run_list(args: &Args) -> Result<u8, Failure> {
    let (config, base) = load_config(args)?;
    let mut rows = Vec::new();
    for client in &config.clients {
        let sources = load_sources(&base, client);
        match model(&sources) {
            Ok(model) => rows.extend(list::rows(&model, &sources, client)),
            Err(errors) => return Err(Failure::sources(sources, errors)),
        }
    }
    list::print(&rows);
    Ok(FINE)
}
