//! The generator: sources in, files out. Nothing is read or written here.

use crate::{
    check,
    config::{ClientConfig, Config},
    diag::Ctxt,
    layout::Layout,
    lower,
    model::Model,
    parse,
    render::{self, GeneratedFile},
    source::{Error, Location, Sources},
};

/// Generates the files of one client, or says all that is wrong with its sources.
pub fn generate(
    sources: &Sources,
    layout: &Layout,
    config: &Config,
    client: &ClientConfig,
) -> Result<Vec<GeneratedFile>, Vec<Error>> {
    let mut model = model(sources)?;
    if client.features {
        model = model.with_features();
        layout.check_features(&model)?;
    }
    if client.fake {
        layout.check_fake(&model)?;
    }
    Ok(render::render(&model, layout, config, client))
}

/// Reads and checks what the sources declare.
pub fn model(sources: &Sources) -> Result<Model, Vec<Error>> {
    let cx = Ctxt::new();
    sources.errors.iter().cloned().for_each(|error| cx.error(error));
    let declarations = parse::parse(sources, &cx);
    sorted(cx)?;

    let cx = Ctxt::new();
    let model = lower::lower(sources, &declarations, &cx);
    check::check(&model, &cx);
    sorted(cx)?;

    if model.groups.is_empty() {
        let folders: Vec<_> = sources.crates.iter().map(|krate| format!("`{}`", krate.folder)).collect();
        return Err(vec![
            Error::new(None, format!("no annotated type was found in {}", folders.join(", ")))
                .help("put `#[derive(GenClient)]` on a struct with a `metadata: ObjectMeta` field"),
        ]);
    }
    Ok(model)
}

/// Ends a stage: its errors in the order of the sources.
fn sorted(cx: Ctxt<Option<Location>>) -> Result<(), Vec<Error>> {
    cx.check().map_err(|mut errors| {
        errors.sort_by_key(|error| error.at.as_ref().map(|at| (at.file, at.range.start, at.range.end)));
        // Two modules may share a file, and its errors.
        errors.dedup_by(|a, b| a.at.is_some() && a.at == b.at && a.message == b.message);
        errors
    })
}
