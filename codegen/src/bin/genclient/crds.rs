//! CRD manifests. The schemas exist only in compiled code, so the generated package is compiled and its
//! example `crds` run; it prints the manifests, and nothing is written here.

use std::{
    fs,
    io::{IsTerminal as _, Read as _, stderr},
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use genclient::{GeneratedFile, crd_file, layout::Layout};
use serde::Deserialize;

use crate::{print::note, report::Failure};

/// The manifests that the program of a package prints, as files of the package.
pub(crate) fn manifests(
    package: &Path,
    layout: &Layout,
    command: &str,
    only_reads: bool,
    interrupted: &AtomicBool,
) -> Result<Vec<GeneratedFile>, Failure> {
    if !finds_program(package) {
        return Err(Failure::message(format!(
            "the package of `{}` has `autoexamples = false`, and does not name the program that prints its CRDs",
            layout.crate_name
        ))
        .help("add `[[example]]` with `name = \"crds\"` to its Cargo.toml, or set `crds = false`"));
    }
    note(&format!("compiling `{}` to print its CRDs", layout.crate_name));
    let printed = run(package, only_reads, interrupted)?;
    documents(&printed)
        .iter()
        .map(|document| {
            let named = document.strip_prefix("# ").and_then(|rest| rest.split_once('\n'));
            let (name, text) = named.ok_or_else(|| {
                Failure::message("the program that prints the CRDs printed something else")
                    .help("the versions of `genclient` and `genclient-runtime` must be the same")
            })?;
            Ok(crd_file(command, name, text))
        })
        .collect()
}

/// The documents of a YAML text. A line that is `---` separates them; within a document it is always indented.
fn documents(text: &str) -> Vec<String> {
    let mut documents = Vec::new();
    for line in text.split_inclusive('\n') {
        match documents.last_mut() {
            _ if line.trim_end() == "---" => documents.push(String::new()),
            Some(document) => *document += line,
            None => documents.push(line.to_owned()),
        }
    }
    documents
}

/// Whether cargo finds the program in the package: by itself, or because the manifest names it.
fn finds_program(package: &Path) -> bool {
    #[derive(Deserialize)]
    struct Manifest {
        package: Package,
        #[serde(default)]
        example: Vec<Example>,
    }
    #[derive(Deserialize)]
    struct Package {
        #[serde(default = "yes")]
        autoexamples: bool,
    }
    #[derive(Deserialize)]
    struct Example {
        name: String,
    }
    fn yes() -> bool {
        true
    }
    let text = fs::read_to_string(package.join("Cargo.toml")).ok();
    // What cannot be read here is what cargo complains of.
    let manifest = text.and_then(|text| toml::from_str::<Manifest>(&text).ok());
    manifest.is_none_or(|manifest| {
        manifest.package.autoexamples || manifest.example.iter().any(|example| example.name == "crds")
    })
}

/// Says why the program did not print the CRDs. Its own exit code can also be cargo's.
fn failure(package: &Path, only_reads: bool, code: Option<i32>) -> Failure {
    let mut cargo = cargo("build", package, only_reads);
    cargo.arg("--quiet").stdout(Stdio::null()).stderr(Stdio::null());
    if !cargo.status().is_ok_and(|status| status.success()) {
        return Failure::message("the generated package does not compile, so its CRDs cannot be written")
            .help(match only_reads {
                true => "cargo's errors are above; if `Cargo.lock` has to change, run `genclient generate`",
                false => "cargo's errors are above; `genclient generate --no-crds` generates the code alone",
            });
    }
    match code {
        Some(1) => Failure::message("the API server would refuse the CRDs of the generated package").help(
            "the reason is above; fix the types, or use `genclient generate --no-crds` for the code alone",
        ),
        _ => Failure::message("the schema of a kind cannot be written as a CRD").help(
            "the panic above names the property. In a CRD a property has one schema, so an enum with \
             `#[serde(tag = …)]`, or one with both unit and struct variants, has none. Use serde's default form \
             and give each variant fields, as in `A {}`; or write a struct with a plain enum and an optional \
             field for each variant. `genclient generate --no-crds` generates the code alone",
        ),
    }
}

/// A command of cargo for the program. One that only reads does not let cargo write `Cargo.lock`.
fn cargo(command: &str, package: &Path, only_reads: bool) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([command, "--example", "crds", "--manifest-path"]).arg(package.join("Cargo.toml"));
    if only_reads {
        cargo.arg("--locked");
    }
    cargo.stdin(Stdio::null());
    cargo
}

/// Compiles and runs the program; cargo's progress and errors go to the standard error.
fn run(package: &Path, only_reads: bool, interrupted: &AtomicBool) -> Result<String, Failure> {
    let failed = |error: std::io::Error| {
        Failure::message(format!("cannot run cargo: {error}"))
            .help("install it, or name it in the variable CARGO; `--no-crds` generates the code alone")
    };
    let mut cargo = cargo("run", package, only_reads);
    if !stderr().is_terminal() {
        cargo.arg("--quiet");
    }
    let mut child = cargo.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut stdout = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let result = stdout.as_mut().map(|stdout| stdout.read_to_string(&mut text));
        result.transpose().map(|_| text)
    });
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if interrupted.load(Ordering::Relaxed) {
            // cargo may have heard the signal too, and be gone.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Failure::interrupted());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::interrupted());
    }
    if !status.success() {
        return Err(failure(package, only_reads, status.code()));
    }
    let text = reader.join().unwrap_or_else(|_| Ok(String::new()));
    text.map_err(|error| Failure::message(format!("cannot read the CRDs: {error}")))
}
