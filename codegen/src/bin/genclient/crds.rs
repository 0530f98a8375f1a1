//! CRD manifests. The schemas exist only in compiled code, so the generated package is compiled and its
//! example `crds` run; it prints the manifests, and nothing is written here.

use std::{
    io::{IsTerminal as _, Read as _, stderr},
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use genclient::{GeneratedFile, crd_file, layout::Layout};

use crate::{print::note, report::Failure};

/// The manifests that the program of a package prints, as files of the package.
pub(crate) fn manifests(
    package: &Path,
    layout: &Layout,
    command: &str,
    interrupted: &AtomicBool,
) -> Result<Vec<GeneratedFile>, Failure> {
    note(&format!("compiling `{}` to print its CRDs", layout.crate_name));
    let printed = run(package, interrupted)?;
    let documents = printed.split("---\n").filter(|document| !document.trim().is_empty());
    documents
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

/// Compiles and runs the program; cargo's progress and errors go to the standard error.
fn run(package: &Path, interrupted: &AtomicBool) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::message(format!("cannot run cargo: {error}"));
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--example", "crds", "--manifest-path"]).arg(package.join("Cargo.toml"));
    if !stderr().is_terminal() {
        cargo.arg("--quiet");
    }
    let mut child = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
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
        return Err(Failure::message(
            "the generated package does not compile, so its CRDs cannot be written",
        )
        .help("cargo's errors are above; `genclient generate --no-crds` generates the code alone"));
    }
    let text = reader.join().unwrap_or_else(|_| Ok(String::new()));
    text.map_err(|error| Failure::message(format!("cannot read the CRDs: {error}")))
}
