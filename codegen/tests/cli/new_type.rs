//! The way of a new API type: one struct, one command, and the clientset has it.
//!
//! The only test here that compiles what was generated. It copies the sample crates into a workspace
//! of their own beside the generator's, and shares the target folder, so that little is compiled.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const TYPE: &str = r#"
/// Subnet is a part of a network.
#[derive(Clone, Debug, PartialEq, GenClient)]
#[genclient(annotation("api-approved.kubernetes.io", "unapproved, sample"))]
pub struct Subnet {
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// The subnet that is wanted.
    pub spec: NetworkSpec,
}
"#;

const USE: &str = r#"
use samplecrd_client::{clientset::Clientset, informers::SharedInformerFactory};

async fn uses(clientset: Clientset) -> genclient_runtime::Result<()> {
    let subnet = clientset.samplecrd_v1().subnets("default").get("a").await?;
    clientset.samplecrd_v1().subnets("default").update(&subnet).await?;
    let factory = SharedInformerFactory::builder(clientset).build();
    let _ = factory.samplecrd().v1().subnets().lister().subnets("default").get("a");
    Ok(())
}

fn main() {
    let _ = uses;
}
"#;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A workspace of the sample crates alone, on this generator and this runtime.
fn workspace(folder: &Path) {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    for sample in ["apis", "generated/samplecrd"] {
        copy(&here.join(sample), &folder.join(sample));
    }
    for file in ["Cargo.lock", "genclient.toml"] {
        fs::copy(here.join(file), folder.join(file)).unwrap();
    }
    let manifest = fs::read_to_string(here.join("Cargo.toml")).unwrap();
    let members = manifest.find("members = [").unwrap();
    let end = members + manifest[members..].find(']').unwrap() + 1;
    let mut manifest =
        format!("{}members = [\"apis\", \"generated/samplecrd\"]{}", &manifest[..members], &manifest[end..]);
    for package in ["codegen", "codegen-macros", "fake", "runtime"] {
        let there = format!("path = {:?}", here.join(package));
        manifest = manifest.replace(&format!("path = \"{package}\""), &there);
    }
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
}

fn generate(folder: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_genclient"));
    command.arg("generate").env("CARGO_NET_OFFLINE", "true").env("CARGO_TARGET_DIR", target_folder());
    let output = genclient_tally::nested_build("new_type: genclient generate", command.current_dir(folder));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The target folder of this very test.
fn target_folder() -> PathBuf {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_genclient"));
    binary.ancestors().nth(2).unwrap().to_path_buf()
}

#[test]
fn one_struct_and_one_command_make_a_new_type_usable_from_the_clientset() {
    // Always the same folder, so that cargo finds what it compiled there the last time.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-type");
    let folder = folder.as_path();
    let _ = fs::remove_dir_all(folder);
    workspace(folder);
    let types = folder.join("apis/src/samplecrd/v1.rs");
    let before = fs::read_to_string(&types).unwrap();

    fs::write(&types, format!("{before}{TYPE}")).unwrap();
    generate(folder);
    fs::write(folder.join("generated/samplecrd/examples/uses_subnets.rs"), USE).unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--offline", "--package", "samplecrd-client", "--example", "uses_subnets"]);
    build.arg("--target-dir").arg(target_folder()).current_dir(folder);
    let build = genclient_tally::nested_build("new_type: cargo build", &mut build);
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    let crds = folder.join("generated/samplecrd/crds");
    assert!(crds.join("subnets.samplecrd.k8s.io.yaml").exists());

    // Renamed, it leaves neither an orphan nor a stale CRD, and what a person wrote stays.
    fs::write(crds.join("by-hand.yaml"), "# written by hand\n").unwrap();
    fs::write(&types, format!("{before}{}", TYPE.replace("Subnet", "Segment"))).unwrap();
    generate(folder);
    assert!(crds.join("segments.samplecrd.k8s.io.yaml").exists());
    assert!(!crds.join("subnets.samplecrd.k8s.io.yaml").exists());
    assert!(crds.join("by-hand.yaml").exists());
    assert!(!folder.join("generated/samplecrd/src/listers/samplecrd/v1/subnet.rs").exists());
}
