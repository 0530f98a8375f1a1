//! `genclient init`: a configuration, a first kind, its client, and what the packages need for it.

mod manifest;
mod origin;
mod project;
mod sample;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use genclient::plan::Plan;

use crate::{
    args::{GenerateArgs, InitArgs},
    generate, load, place,
    print::{note, out},
    report::Failure,
};
use origin::Origin;
use project::Project;
use sample::Sample;

/// Sets up a folder, a crate or a workspace, and generates for the first time.
pub(crate) fn run(options: &InitArgs) -> Result<u8, Failure> {
    let folder = options.folder.clone().unwrap_or_else(|| PathBuf::from("."));
    let origin = Origin::of(options)?;
    let project = Project::find(&folder, &options.api_version)?;
    let sample = Sample::new(options, &project)?;
    let plan = plan(&folder, &project, &sample, &origin)?;
    let changes = plan.list();
    let _written = plan.write(&generate::interruption())?;
    format(&folder, &changes);
    let mut text = String::from("Wrote:\n");
    changes.iter().for_each(|(path, what)| text += &format!("  {path:<24}{what}\n"));
    out(&text);
    if !options.no_generate {
        let (config, folder) = load(&folder.join("genclient.toml"))?;
        generate::run(&folder, &config, &GenerateArgs::default()).inspect_err(|_| {
            note("the files above stay; run `genclient generate` when this is mended\n");
        })?;
    }
    out(&format!("\nNext:\n{}", project.next_steps(&sample, &folder)));
    Ok(0)
}

/// All files, or the first that is in the way.
fn plan(folder: &Path, project: &Project, sample: &Sample, origin: &Origin) -> Result<Plan, Failure> {
    let mut plan = Plan::default();
    for (path, text) in project.new_files(sample, origin, folder)? {
        plan.create_new(folder, &path, text)?;
    }
    for (path, text) in project.edits(origin, folder)? {
        plan.edit(folder, "", &path, text)?;
    }
    if let Some((workspace, text)) = project.workspace(folder)? {
        plan.edit(workspace, &place::relative(folder, workspace), "Cargo.toml", text)?;
    }
    Ok(plan)
}

/// Lays the new sources out as their owner's settings have it; without rustfmt they stay as they are.
fn format(folder: &Path, changes: &[(String, &str)]) {
    let sources = changes.iter().filter(|(path, what)| *what == "new" && path.ends_with(".rs"));
    // The root of a library would lead rustfmt to all its modules.
    let sources = sources.filter(|(path, _)| !path.ends_with("lib.rs"));
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024"]).args(sources.map(|(path, _)| folder.join(path)));
    let _ = rustfmt.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}
