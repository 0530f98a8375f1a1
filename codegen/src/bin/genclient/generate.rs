//! `genclient generate`: read, generate, compare, and write or show.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use genclient::{
    CRD_PROGRAM, GeneratedFile,
    config::{ClientConfig, Config},
    generate,
    layout::Layout,
    model,
    model::Model,
    plan::{Count, Lock, Plan, Written},
    source::{Folder, Sources},
};

use crate::{
    args::GenerateArgs,
    crds, metadata,
    package::{self, Made},
    print::{note, out},
    report::Failure,
    version,
};

/// Everything is as it should be.
const FINE: u8 = 0;
/// `--check` found generated files that are not what the sources say.
const STALE: u8 = 1;

/// What one client consists of.
struct Client<'a> {
    config: &'a ClientConfig,
    layout: Layout,
    /// The folder of its package.
    package: PathBuf,
    /// Its code.
    files: Vec<GeneratedFile>,
    /// What its package gets, if it has to be made.
    made: Made,
}

/// Generates what the configuration in a folder names.
pub(crate) fn run(folder: &Path, config: &Config, options: &GenerateArgs) -> Result<u8, Failure> {
    let only_reads = options.check || options.dry_run;
    let waiting = || note(&format!("waiting for another run of genclient in `{}`", shown(folder)));
    // Taken before the sources are read: what is written last is then what was read last.
    let _lock = if only_reads { Lock::shared(folder, waiting)? } else { Lock::exclusive(folder, waiting)? };
    let clients = clients(folder, config)?;
    match only_reads {
        true => show(config, options, clients),
        false => write(config, options, clients),
    }
}

/// Renders every client, or says what is wrong with any of them.
fn clients<'a>(folder: &Path, config: &'a Config) -> Result<Vec<Client<'a>>, Failure> {
    let mut clients = Vec::new();
    let mut failures = Vec::new();
    for client in &config.clients {
        match load(folder, config, client) {
            Ok(client) => clients.push(client),
            Err(failure) => failures.push(failure),
        }
    }
    match failures.into_iter().reduce(Failure::both) {
        Some(failure) => Err(failure),
        None => Ok(clients),
    }
}

fn load<'a>(folder: &Path, config: &Config, client: &'a ClientConfig) -> Result<Client<'a>, Failure> {
    let (layout, sources) = read(folder, client)?;
    let package = folder.join(&layout.package);
    version::check(&package)?;
    match generate(&sources, &layout, config, client) {
        Ok(files) => {
            let made = if layout.is_new { made(&sources, client) } else { Made::default() };
            Ok(Client { config: client, layout, package, files, made })
        }
        Err(errors) => Err(Failure::sources(sources, errors)),
    }
}

/// What the package of a client gets.
fn made(sources: &Sources, client: &ClientConfig) -> Made {
    let model = model(sources).ok().filter(|_| client.features).map(Model::with_features);
    let groups = model.into_iter().flat_map(|model| model.groups);
    let packages = sources.crates.iter().filter_map(|krate| krate.package.clone());
    Made { features: groups.filter_map(|group| group.feature).collect(), dependencies: packages.collect() }
}

/// Where a client's code goes, and its sources.
pub(crate) fn read(folder: &Path, client: &ClientConfig) -> Result<(Layout, Sources), Failure> {
    let reader = Folder(folder.to_path_buf());
    let failed = |error| Failure::sources(Sources::default(), vec![error]);
    let layout = Layout::find(&reader, client).map_err(failed)?;
    let packages = metadata::packages(folder, client, &layout)?;
    let sources = layout.sources(&reader, client, &packages).map_err(failed)?;
    Ok((layout, sources))
}

impl Client<'_> {
    /// Whether the code has a program that prints CRDs, and it is to be run.
    fn prints_crds(&self, options: &GenerateArgs) -> bool {
        self.config.crds && !options.no_crds && self.files.iter().any(|file| file.path == CRD_PROGRAM)
    }

    /// Adds what differs in the code.
    fn compare_code(&mut self, plan: &mut Plan) -> Result<(), Failure> {
        let files = std::mem::take(&mut self.files);
        if self.layout.is_new {
            plan.create(
                &self.package,
                &self.layout.package,
                package::manifest(self.config, &self.layout, &self.package, &self.made),
            )?;
        }
        Ok(plan.compare(&self.package, &self.layout.package, &self.layout.folders(), files)?)
    }

    /// Adds what differs in the manifests.
    fn compare_crds(
        &self,
        plan: &mut Plan,
        config: &Config,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let files = crds::manifests(&self.package, &self.layout, &config.command, interrupted)?;
        Ok(plan.compare(&self.package, &self.layout.package, &["crds".to_owned()], files)?)
    }

    /// Adds the removal of manifests, where the code has no program that prints any.
    fn compare_no_crds(&self, plan: &mut Plan, options: &GenerateArgs) -> Result<(), Failure> {
        if options.no_crds {
            return Ok(());
        }
        Ok(plan.compare(&self.package, &self.layout.package, &["crds".to_owned()], Vec::new())?)
    }
}

/// Prints what differs and writes nothing.
fn show(config: &Config, options: &GenerateArgs, mut clients: Vec<Client<'_>>) -> Result<u8, Failure> {
    let interrupted = interruption();
    let mut plan = Plan::default();
    let printing: Vec<bool> = clients.iter().map(|client| client.prints_crds(options)).collect();
    for client in &mut clients {
        client.compare_code(&mut plan)?;
    }
    let code_is_fresh = plan.is_empty();
    for (client, prints) in clients.iter().zip(&printing) {
        match prints {
            false => client.compare_no_crds(&mut plan, options)?,
            // The code prints the manifests, and what is there is not the code that would be.
            true if code_is_fresh => client.compare_crds(&mut plan, config, &interrupted)?,
            true => note(&format!(
                "the CRDs of `{}` were not compared, because its code changes",
                client.layout.crate_name
            )),
        }
    }
    out(&plan.diff());
    if options.dry_run {
        note(&summary(plan.count(), "would be "));
        return Ok(FINE);
    }
    if plan.is_empty() {
        return Ok(FINE);
    }
    note("error: the generated files are not what the sources say");
    note(&format!("help: run `{}`", config.command));
    Ok(STALE)
}

/// Writes the code, then the manifests that it prints; if either fails, both are what they were.
fn write(config: &Config, options: &GenerateArgs, mut clients: Vec<Client<'_>>) -> Result<u8, Failure> {
    let interrupted = interruption();
    let mut plan = Plan::default();
    let printing: Vec<bool> = clients.iter().map(|client| client.prints_crds(options)).collect();
    for client in &mut clients {
        client.compare_code(&mut plan)?;
    }
    let code = plan.write(&interrupted)?;
    let manifests = || -> Result<Written, Failure> {
        let mut plan = Plan::default();
        for (client, prints) in clients.iter().zip(&printing) {
            match prints {
                true => client.compare_crds(&mut plan, config, &interrupted)?,
                false => client.compare_no_crds(&mut plan, options)?,
            }
        }
        Ok(plan.write(&interrupted)?)
    };
    match manifests() {
        Ok(manifests) => {
            note(&summary(code.count() + manifests.count(), ""));
            Ok(FINE)
        }
        Err(failure) => {
            code.undo();
            Err(failure)
        }
    }
}

/// Becomes true when the process is asked to end. A second signal ends it at once.
pub(crate) fn interruption() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // Without the handler the signal ends the process, and the next run mends what it left behind.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, interrupted.clone());
        let _ = signal_hook::flag::register(signal, interrupted.clone());
    }
    interrupted
}

/// How many files are concerned, in one line.
fn summary(Count { written, removed, unchanged }: Count, would: &str) -> String {
    let files = if written == 1 { "file" } else { "files" };
    format!("{written} {files} {would}written, {removed} {would}removed, {unchanged} unchanged")
}

fn shown(folder: &Path) -> String {
    if folder.as_os_str().is_empty() { ".".to_owned() } else { folder.display().to_string() }
}
