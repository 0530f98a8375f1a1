//! `genclient generate`: read, generate, compare, and write or show.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use genclient::{
    CRD_PROGRAM, GeneratedFile,
    config::{self, ClientConfig, Config},
    generate,
    layout::Layout,
    model,
    model::Model,
    plan::{self, Count, Lock, Plan, Written},
    source::{Folder, Sources},
};

use crate::{
    args::GenerateArgs,
    crds, metadata,
    package::{self, Made},
    place,
    print::{note, out},
    report::Failure,
    version,
};

/// Everything is as it should be.
const FINE: u8 = 0;
/// `--check` found generated files that are not what the sources say.
const STALE: u8 = 1;

/// The most removed files that are named.
const MOST_REMOVED: usize = 20;

/// What one client consists of.
struct Client<'a> {
    config: &'a ClientConfig,
    /// The folder of the configuration.
    folder: PathBuf,
    layout: Layout,
    /// The folder of its package.
    package: PathBuf,
    /// Its code.
    files: Vec<GeneratedFile>,
    /// Whether the CRDs of the package are its own: of the clients in one package this is one at most.
    owns_crds: bool,
    /// What its package gets, if it has to be made.
    made: Made,
}

/// Generates what the configuration in a folder names.
pub(crate) fn run(folder: &Path, config: &Config, options: &GenerateArgs) -> Result<u8, Failure> {
    let only_reads = options.check || options.dry_run;
    // Taken before the sources are read: what is written last is then what was read last.
    let _locks = locks(folder, config, only_reads)?;
    let clients = clients(folder, config, only_reads)?;
    if only_reads { show(config, options, clients) } else { write(config, options, clients) }
}

/// The locks of the configuration's folder and of every package: another configuration may name the same one.
fn locks(folder: &Path, config: &Config, only_reads: bool) -> Result<Vec<Lock>, Failure> {
    let reader = Folder(folder.to_path_buf());
    // What is wrong with a layout is reported when it is used.
    let layouts = config.clients.iter().filter_map(|client| Layout::find(&reader, client).ok());
    let folders: BTreeSet<PathBuf> = std::iter::once(folder.to_path_buf())
        .chain(layouts.map(|layout| folder.join(layout.package)))
        .map(|folder| place::absolute(&folder))
        .collect();
    let mut locks = Vec::new();
    for locked in folders {
        let waiting = || {
            note(&format!("waiting for another run of genclient in `{}`", place::relative(folder, &locked)));
        };
        if !only_reads {
            locks.push(Lock::exclusive(&locked, waiting)?);
        } else if locked.exists() {
            locks.push(Lock::shared(&locked, waiting)?);
        }
    }
    Ok(locks)
}

/// Renders every client, or says what is wrong with any of them.
fn clients<'a>(folder: &Path, config: &'a Config, only_reads: bool) -> Result<Vec<Client<'a>>, Failure> {
    let mut clients = Vec::new();
    let mut failures = Vec::new();
    for client in &config.clients {
        match load(folder, config, client, only_reads) {
            Ok(client) => clients.push(client),
            Err(failure) => failures.push(failure),
        }
    }
    match failures.into_iter().reduce(Failure::both) {
        Some(failure) => Err(failure),
        None => {
            keep_apart(&mut clients)?;
            Ok(clients)
        }
    }
}

/// Refuses clients that would write or remove each other's files, and finds out whose the CRDs of a package are.
fn keep_apart(clients: &mut [Client<'_>]) -> Result<(), Failure> {
    for at in 0..clients.len() {
        let (others, rest) = clients.split_at_mut(at);
        let [client, after @ ..] = rest else { continue };
        let mut owns = true;
        for other in others.iter() {
            let (one, two) = (other.output(), client.output());
            if config::apart(&one, &two).is_err() {
                let (outer, inner) =
                    if two.starts_with(&one) { (other, &*client) } else { (&*client, other) };
                return Err(Failure::message(format!(
                    "the output `{}` is within the output `{}`",
                    inner.config.output, outer.config.output
                ))
                .help("give each client a folder of its own"));
            }
            let one_package = other.place() == client.place();
            if one_package && other.has_crds() && client.has_crds() {
                return Err(Failure::message(format!(
                    "`{}` and `{}` are in one package, and both would write its CRDs",
                    other.config.output, client.config.output
                ))
                .help(
                    "make them one client with the `sources` of both, or set `crds = false` for one of them",
                ));
            }
            owns &= !one_package;
        }
        let place = client.place();
        owns &= !after.iter().any(|other| other.has_crds() && other.place() == place);
        client.owns_crds = client.has_crds() || owns;
    }
    Ok(())
}

fn load<'a>(
    folder: &Path,
    config: &Config,
    client: &'a ClientConfig,
    only_reads: bool,
) -> Result<Client<'a>, Failure> {
    let (layout, sources) = read(folder, client, only_reads)?;
    let package = folder.join(&layout.package);
    version::check(&package)?;
    match generate(&sources, &layout, config, client) {
        Ok(files) => {
            let made = if layout.is_new { made(&sources, client) } else { Made::default() };
            Ok(Client {
                config: client,
                folder: folder.to_path_buf(),
                layout,
                package,
                files,
                owns_crds: false,
                made,
            })
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
pub(crate) fn read(
    folder: &Path,
    client: &ClientConfig,
    only_reads: bool,
) -> Result<(Layout, Sources), Failure> {
    let reader = Folder(folder.to_path_buf());
    let failed = |error| Failure::sources(Sources::default(), vec![error]);
    let layout = Layout::find(&reader, client).map_err(failed)?;
    let packages = metadata::packages(folder, client, &layout, only_reads)?;
    let sources = layout.sources(&reader, client, &packages).map_err(failed)?;
    Ok((layout, sources))
}

impl Client<'_> {
    /// The folder of its package, in the one form that it has.
    fn place(&self) -> PathBuf {
        place::absolute(&self.package)
    }

    /// The folder of its code, in the one form that it has.
    fn output(&self) -> PathBuf {
        if self.layout.is_module() { self.place().join(self.layout.folder()) } else { self.place() }
    }

    /// Whether the code has a program that prints CRDs.
    fn has_crds(&self) -> bool {
        self.files.iter().any(|file| file.path == CRD_PROGRAM)
    }

    /// Whether the code has a program that prints CRDs, and it is to be run.
    fn prints_crds(&self, options: &GenerateArgs) -> bool {
        self.config.crds && !options.no_crds && self.has_crds()
    }

    /// Adds what differs in the code.
    fn compare_code(&mut self, plan: &mut Plan) -> Result<(), Failure> {
        let files = std::mem::take(&mut self.files);
        if self.layout.is_new {
            plan.create(
                &self.package,
                &self.layout.package,
                package::manifest(&self.folder, self.config, &self.layout, &self.package, &self.made),
            )?;
        }
        let folders = if self.owns_crds { self.layout.folders() } else { vec![self.layout.folder()] };
        Ok(plan.compare(&self.package, &self.layout.package, &folders, files)?)
    }

    /// Adds what differs in the manifests.
    fn compare_crds(
        &self,
        plan: &mut Plan,
        config: &Config,
        only_reads: bool,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let files = crds::manifests(&self.package, &self.layout, &config.command, only_reads, interrupted)?;
        Ok(plan.compare(&self.package, &self.layout.package, &["crds".to_owned()], files)?)
    }

    /// Adds the removal of manifests, where the code has no program that prints any.
    fn compare_no_crds(&self, plan: &mut Plan, options: &GenerateArgs) -> Result<(), Failure> {
        if options.no_crds || !self.owns_crds {
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
        if !prints {
            client.compare_no_crds(&mut plan, options)?;
        } else if code_is_fresh {
            client.compare_crds(&mut plan, config, true, &interrupted)?;
        } else {
            // The code prints the manifests, and what is there is not the code that would be.
            note(&format!(
                "the CRDs of `{}` were not compared, because its code changes",
                client.layout.crate_name
            ));
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
        plan::clean(&client.package)?;
        client.compare_code(&mut plan)?;
    }
    let code = plan.write(&interrupted)?;
    let manifests = || -> Result<Written, Failure> {
        let mut plan = Plan::default();
        for (client, prints) in clients.iter().zip(&printing) {
            if *prints {
                client.compare_crds(&mut plan, config, false, &interrupted)?;
            } else {
                client.compare_no_crds(&mut plan, options)?;
            }
        }
        Ok(plan.write(&interrupted)?)
    };
    match manifests() {
        Ok(manifests) => {
            note_removed(code.removed().chain(manifests.removed()));
            note(&summary(code.count() + manifests.count(), ""));
            Ok(FINE)
        }
        Err(failure) => {
            code.undo();
            Err(failure)
        }
    }
}

/// Names the files that were removed, because one of them can be an edited copy. A removed group has many.
fn note_removed<'a>(mut paths: impl Iterator<Item = &'a str>) {
    paths.by_ref().take(MOST_REMOVED).for_each(|path| note(&format!("removed `{path}`")));
    let more = paths.count();
    if more > 0 {
        note(&format!("removed {more} more"));
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
