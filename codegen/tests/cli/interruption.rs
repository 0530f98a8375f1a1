//! Two runs at once, runs that are killed or asked to end, and CRDs that cannot be printed: the tree is always
//! the old one, the new one, or one that the next run mends.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use genclient_tally::Tally;
use rand::RngExt as _;

use super::support::{Workspace, kind_with, module};

/// Sources of many kinds; `attribute` tells two variants apart.
fn sources(attribute: &str) -> String {
    let kinds = (0..25).map(|number| kind_with(&format!("Kind{number}"), attribute));
    module("a.example.com/v1", &kinds.collect::<String>())
}

const VARIANTS: [&str; 2] = ["readonly", "skip_verbs(watch)"];

fn spawn(workspace: &Workspace, arguments: &[&str]) -> Child {
    workspace.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn rounds(short: usize) -> usize {
    genclient_tally::usual_or_long(short, short * 20)
}

/// Writes the sources as an editor does: whole, in one step.
fn save(workspace: &Workspace, attribute: &str) {
    workspace.write("apis/src/lib.rs.new", &sources(attribute));
    fs::rename(workspace.path("apis/src/lib.rs.new"), workspace.path("apis/src/lib.rs")).unwrap();
}

/// Nothing of the staging is left, and the tree is what the sources say.
fn is_whole(workspace: &Workspace) {
    assert!(!workspace.path("generated/client/.genclient").exists());
    let check = workspace.run(&["generate", "--check"]);
    assert_eq!(check.code, 0, "{}{}", check.stdout, check.stderr);
}

#[test]
fn of_two_runs_at_once_neither_undoes_the_other() {
    let tally = Tally::new();
    let workspace = Workspace::new(&sources(VARIANTS[0]));
    tally.repeat(rounds(10), &[("two runs at once", 1)], |round| {
        save(&workspace, VARIANTS[round % 2]);
        let mut first = spawn(&workspace, &["generate"]);
        // The second one may read other sources than the first.
        sleep(Duration::from_millis(rand::rng().random_range(0..30)));
        save(&workspace, VARIANTS[(round + 1) % 2]);
        let mut second = spawn(&workspace, &["generate"]);
        let both_run = first.try_wait().unwrap().is_none();
        tally.count(if both_run { "two runs at once" } else { "one after the other" });
        assert_eq!(first.wait().unwrap().code(), Some(0));
        assert_eq!(second.wait().unwrap().code(), Some(0));
        is_whole(&workspace);
    });
}

#[test]
fn a_killed_run_leaves_a_tree_that_the_next_one_mends() {
    let workspace = Workspace::new(&sources(VARIANTS[0]));
    workspace.generate();
    workspace.write("generated/client/src/by_hand.rs", "// written by hand\n");
    let whole = Instant::now();
    save(&workspace, VARIANTS[1]);
    workspace.generate();
    let whole = whole.elapsed();
    let tally = Tally::new();
    tally.repeat(rounds(25), &[("killed", 5), ("half a tree", 1)], |round| {
        save(&workspace, VARIANTS[round % 2]);
        let mut run = spawn(&workspace, &["generate"]);
        sleep(whole.mul_f64(rand::rng().random_range(0.0..1.1)));
        run.kill().unwrap();
        tally.count(if run.wait().unwrap().code() == Some(0) { "ended" } else { "killed" });
        tally.add("half a tree", usize::from(workspace.path("generated/client/.genclient").exists()));
        workspace.generate();
        is_whole(&workspace);
        assert_eq!(workspace.read("generated/client/src/by_hand.rs"), "// written by hand\n");
    });
}

#[test]
fn a_run_that_is_killed_while_it_prints_crds_leaves_a_tree_that_the_next_one_mends() {
    let workspace = with_cargo(
        "sleep 0.1; printf -- '---\\n# a.example.com\\nkind: A\\n'
         grep -q readonly apis/src/lib.rs || printf -- '---\\n# b.example.com\\nkind: B\\n'",
    );
    let cargo = workspace.path("cargo.sh");
    let cargo = [("CARGO", cargo.to_str().unwrap())];
    let generate = |arguments: &[&str]| {
        let run = workspace.run_with(arguments, &cargo);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    };
    let whole = Instant::now();
    generate(&["generate"]);
    let whole = whole.elapsed();
    let tally = Tally::new();
    tally.repeat(rounds(25), &[("killed", 5), ("half a tree", 1)], |round| {
        let variant = round % 2;
        save(&workspace, VARIANTS[variant]);
        let mut command = workspace.command(&["generate"]);
        command.env(cargo[0].0, cargo[0].1).stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = command.spawn().unwrap();
        sleep(whole.mul_f64(rand::rng().random_range(0.0..1.1)));
        run.kill().unwrap();
        tally.count(if run.wait().unwrap().code() == Some(0) { "ended" } else { "killed" });
        tally.add("half a tree", usize::from(workspace.path("client/.genclient").exists()));
        generate(&["generate"]);
        generate(&["generate", "--check"]);
        assert!(!workspace.path("client/.genclient").exists());
        assert!(workspace.path("client/crds/a.example.com.yaml").exists());
        assert_eq!(workspace.path("client/crds/b.example.com.yaml").exists(), variant == 1);
    });
}

#[test]
fn a_run_that_is_asked_to_end_leaves_the_old_tree_or_the_new_one() {
    let tally = Tally::new();
    let workspace = Workspace::new(&sources(VARIANTS[0]));
    workspace.generate();
    let whole = Instant::now();
    save(&workspace, VARIANTS[1]);
    workspace.generate();
    let whole = whole.elapsed();
    tally.repeat(rounds(25), &[("interrupted", 1)], |round| {
        let before = workspace.tree();
        save(&workspace, VARIANTS[round % 2]);
        let mut run = spawn(&workspace, &["generate"]);
        // It listens to signals once it has read the sources.
        sleep(whole.mul_f64(rand::rng().random_range(0.4..1.1)));
        signal(&run, if round % 2 == 0 { "INT" } else { "TERM" });
        let code = run.wait().unwrap().code();
        tally.count(match code {
            Some(0) => "ended",
            Some(_) => "interrupted",
            None => "ended by the signal",
        });
        match code {
            // Before it listens a signal ends it as it ends any program.
            Some(130) | None => {
                let generated = |path: &&std::path::PathBuf| path.starts_with("generated");
                let after = workspace.tree();
                let differs = after
                    .iter()
                    .filter(|(path, _)| generated(path))
                    .any(|(path, file)| before[path] != *file);
                assert!(!differs, "the old tree");
                workspace.generate();
            }
            code => assert_eq!(code, Some(0)),
        }
        is_whole(&workspace);
    });
}

fn signal(child: &Child, name: &str) {
    // It may have ended already.
    let _ = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
}

/// A workspace whose CRDs are printed by this shell script instead of cargo.
fn with_cargo(script: &str) -> Workspace {
    let workspace = Workspace::new(&sources(VARIANTS[0]));
    workspace.write("genclient.toml", "[[client]]\noutput = \"client\"\nsources = [\"apis\"]\n");
    workspace.write("cargo.sh", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(workspace.path("cargo.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    workspace
}

#[test]
fn crds_that_cannot_be_printed_leave_everything_as_it_was() {
    let workspace = with_cargo("echo 'error[E0001]: no' >&2; exit 101");
    let cargo = workspace.path("cargo.sh");
    let cargo = [("CARGO", cargo.to_str().unwrap())];
    let before = workspace.tree();
    let run = workspace.run_with(&["generate"], &cargo);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("error[E0001]: no") && run.stderr.contains("--no-crds"), "{}", run.stderr);
    assert!(workspace.tree() == before, "not even a folder is left");
    assert!(!workspace.path("client").exists());

    assert_eq!(workspace.run_with(&["generate", "--no-crds"], &cargo).code, 0);
    let before = workspace.tree();
    save(&workspace, VARIANTS[1]);
    let sources_changed = workspace.tree();
    assert_eq!(workspace.run_with(&["generate"], &cargo).code, 2);
    let texts = |tree: &std::collections::BTreeMap<_, (Vec<u8>, _)>| -> Vec<Vec<u8>> {
        tree.values().map(|(bytes, _)| bytes.clone()).collect()
    };
    assert_eq!(texts(&workspace.tree()), texts(&sources_changed));
    assert_ne!(texts(&before), texts(&sources_changed));
}

#[test]
fn crds_that_are_wrong_are_told_from_code_that_does_not_compile() {
    let workspace = with_cargo("[ $1 = build ] && exit 0; echo 'Error: no such field' >&2; exit 1");
    let cargo = workspace.path("cargo.sh");
    let run = workspace.run_with(&["generate"], &[("CARGO", cargo.to_str().unwrap())]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the API server would refuse the CRDs"), "{}", run.stderr);
    assert!(!workspace.path("client").exists());
}

#[test]
fn a_schema_that_cannot_be_written_is_told_from_code_that_does_not_compile() {
    let panics = "[ $1 = build ] && exit 0; echo 'Property \"type\" has the schema' >&2; exit 101";
    let workspace = with_cargo(panics);
    let cargo = workspace.path("cargo.sh");
    let run = workspace.run_with(&["generate"], &[("CARGO", cargo.to_str().unwrap())]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the schema of a kind cannot be written as a CRD"), "{}", run.stderr);
    assert!(run.stderr.contains("`#[serde(tag = …)]`"), "{}", run.stderr);
    assert!(!workspace.path("client").exists());
    // rustup ends with 1 if a toolchain is missing, as the program does.
    workspace.write("cargo.sh", "#!/bin/sh\nexit 1\n");
    let run = workspace.run_with(&["generate"], &[("CARGO", cargo.to_str().unwrap())]);
    assert!(run.stderr.contains("does not compile"), "{}", run.stderr);
}

#[test]
fn a_package_that_hides_its_program_is_told_so() {
    let workspace = with_cargo("exit 101");
    let cargo = workspace.path("cargo.sh");
    let manifest = "[package]\nname = \"client\"\nautoexamples = false\n";
    workspace.write("client/Cargo.toml", manifest);
    let run = workspace.run_with(&["generate"], &[("CARGO", cargo.to_str().unwrap())]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("`autoexamples = false`") && run.stderr.contains("[[example]]"),
        "{}",
        run.stderr
    );
    workspace.write("client/Cargo.toml", &format!("{manifest}\n[[example]]\nname = \"crds\"\n"));
    let run = workspace.run_with(&["generate"], &[("CARGO", cargo.to_str().unwrap())]);
    assert!(run.stderr.contains("does not compile"), "{}", run.stderr);
}

#[test]
fn printed_crds_are_written_and_stale_ones_removed() {
    let workspace =
        with_cargo("printf -- '---\\n# a.example.com\\nkind: A\\n---\\n# b.example.com\\nkind: B\\n'");
    let cargo = workspace.path("cargo.sh");
    let cargo = [("CARGO", cargo.to_str().unwrap())];
    let run = workspace.run_with(&["generate"], &cargo);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(workspace.read("client/crds/a.example.com.yaml").ends_with("`genclient generate`.\nkind: A\n"));
    assert_eq!(workspace.run_with(&["generate", "--check"], &cargo).code, 0);

    workspace.write("cargo.sh", "#!/bin/sh\nprintf -- '---\\n# b.example.com\\nkind: C\\n'\n");
    let run = workspace.run_with(&["generate", "--check"], &cargo);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("--- a/client/crds/a.example.com.yaml\n+++ /dev/null"), "{}", run.stdout);
    assert_eq!(workspace.run_with(&["generate"], &cargo).code, 0);
    assert!(!workspace.path("client/crds/a.example.com.yaml").exists());
    assert!(workspace.read("client/crds/b.example.com.yaml").ends_with("kind: C\n"));
}

#[test]
fn a_crd_ends_where_the_next_document_starts() {
    // Documentation may hold the separator of documents, indented as YAML has it, or end with it.
    let text = "kind: A\ndescription: |-\n  first\n  ---\n  a heading\n  ---\nother: a ---\n";
    let workspace =
        with_cargo(&format!("cat <<'END'\n---\n# a.example.com\n{text}---\n# b.example.com\nkind: B\nEND"));
    let cargo = workspace.path("cargo.sh");
    let run = workspace.run_with(&["generate"], &[("CARGO", cargo.to_str().unwrap())]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(workspace.read("client/crds/a.example.com.yaml").ends_with(text));
    assert!(workspace.read("client/crds/b.example.com.yaml").ends_with("`genclient generate`.\nkind: B\n"));
}

#[test]
fn an_empty_folder_of_a_killed_run_is_removed_though_nothing_changes() {
    let workspace = Workspace::new(&sources(VARIANTS[0]));
    workspace.generate();
    fs::create_dir(workspace.path("generated/client/.genclient")).unwrap();
    workspace.generate();
    assert!(!workspace.path("generated/client/.genclient").exists());
}

#[test]
fn two_configurations_with_one_output_exclude_each_other() {
    let workspace = with_cargo("");
    workspace.write("one/genclient.toml", "[[client]]\noutput = \"../client\"\nsources = [\"../apis\"]\n");
    workspace.write("two/genclient.toml", "[[client]]\noutput = \"../client\"\nsources = [\"../apis\"]\n");
    let cargo = format!(
        "#!/bin/sh\necho started >>{0}; sleep 1; echo ended >>{0}\n",
        workspace.path("log").display()
    );
    workspace.write("cargo.sh", &cargo);
    let spawn = |folder: &str| {
        let mut command = workspace.command(&["generate"]);
        command.current_dir(workspace.path(folder)).env("CARGO", workspace.path("cargo.sh"));
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for run in ["one", "two", "one", "two"].map(spawn) {
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(workspace.read("log"), "started\nended\n".repeat(4));
}

#[test]
fn a_signal_while_the_crds_are_printed_takes_the_code_back() {
    let workspace = with_cargo("echo started >started; exec sleep 60");
    let before = workspace.tree();
    let mut run = workspace
        .command(&["generate"])
        .env("CARGO", workspace.path("cargo.sh"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !workspace.path("started").exists() {
        assert!(Instant::now() < deadline);
        sleep(Duration::from_millis(10));
    }
    assert!(workspace.path("client/src/lib.rs").exists());
    signal(&run, "TERM");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    fs::remove_file(workspace.path("started")).unwrap();
    assert!(workspace.tree() == before);
}
