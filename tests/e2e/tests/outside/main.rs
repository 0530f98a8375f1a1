//! genclient in somebody else's repository: from an empty folder to a controller on a real API server, and a
//! foreign workspace with a path and with a Git dependency.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

mod foreign;
mod init;
mod new_user;
mod published;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// The checkout that is tested.
fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A folder that is the same in every run, so that cargo finds what it compiled for it the last time; empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The target folder of this very test.
fn target() -> PathBuf {
    let test = env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().to_path_buf()
}

/// Copies every file of a folder that git knows or would.
fn copy(from: &Path, to: &Path) {
    let listed = run(command("git", from).args(["ls-files", "--cached", "--others", "--exclude-standard"]));
    for path in listed.lines().filter(|path| from.join(path).is_file()) {
        fs::create_dir_all(to.join(path).parent().unwrap()).unwrap();
        write(&to.join(path), &fs::read_to_string(from.join(path)).unwrap());
    }
}

/// Writes a file, unless that is what it says already: cargo compiles again what was written.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text).unwrap();
    }
}

/// A command in a folder, with a target folder that has most of what it needs.
fn command(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("CARGO_TARGET_DIR", target()).env("CARGO_TERM_COLOR", "never");
    // As the workspace has it, or its dependencies would be compiled anew.
    command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    // What cargo tells tests is not for the packages that they build.
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PKG_")) {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end, which must be good.
fn run(command: &mut Command) -> String {
    let name = std::iter::once(command.get_program()).chain(command.get_args());
    let name: Vec<_> = name.map(|word| word.to_string_lossy().into_owned()).collect();
    let output = genclient_tally::nested_build(&name.join(" "), command);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{stdout}\n{stderr}");
    format!("{stdout}{stderr}")
}

fn cargo(folder: &Path, arguments: &[&str]) -> String {
    run(command(env!("CARGO"), folder).args(arguments))
}

/// The command `genclient`, installed as a user installs it.
fn genclient() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let root = folder("installed");
        run(command(env!("CARGO"), &checkout())
            .args(["install", "--locked", "--debug", "--path", "codegen", "--root"])
            .arg(&root));
        root.join("bin/genclient")
    })
}

/// Whether a test that compiles for minutes runs: `hack/test.sh --long` sets the variable.
fn is_long(test: &str) -> bool {
    let long = genclient_tally::is_long();
    if !long {
        println!("{test} runs with `hack/test.sh --long`");
    }
    long
}

/// One build at a time: two would wait for each other's lock, and no test for the other's memory.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
