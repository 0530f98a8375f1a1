//! `crds.rs` and `examples/crds.rs`: the custom resource definitions, and the program that prints them.
//!
//! The schemas exist only in compiled code, and the generated code is compiled with all that they need.

use std::collections::BTreeMap;

use quote::quote;

use super::{GeneratedFile, HEADER, file::Files};
use crate::model::Model;

/// The path of the program that prints the CRDs, in the package.
pub const CRD_PROGRAM: &str = "examples/crds.rs";

/// Whether any kind has a CRD.
pub(super) fn has_crds(model: &Model) -> bool {
    model.resources().any(|(.., resource)| resource.crd)
}

/// The file of a CRD's manifest.
pub fn crd_file(command: &str, name: &str, manifest: &str) -> GeneratedFile {
    // A file's name holds 255 bytes with the ending. What is cut off are at most the last three of 253, the
    // end of a top-level domain.
    let stem = name.get(..250).unwrap_or(name);
    GeneratedFile {
        path: format!("crds/{stem}.yaml"),
        text: format!("# {HEADER}\n# Regenerate with `{command}`.\n{manifest}"),
    }
}

pub(super) fn render(model: &Model, files: &mut Files<'_>) {
    if !has_crds(model) {
        return;
    }
    render_module(model, files);
    let mut uses = files.uses([]);
    let (crd, result) = (uses.runtime("crd"), quote!(Result<(), Box<dyn std::error::Error>>));
    let module = files.layout.module.iter().map(String::as_str);
    let path: Vec<_> =
        std::iter::once(files.layout.crate_name.as_str()).chain(module).chain(["crds"]).collect();
    let crds = uses.import(&path.join("::"));
    files.add_at(
        CRD_PROGRAM.to_owned(),
        &[
            "Prints the CRD manifests of this crate's kinds:".to_owned(),
            "`cargo run --example crds | kubectl apply -f -`.".to_owned(),
        ],
        uses,
        quote! {
            fn main() -> #result {
                #crd::print_manifests(&#crds::all()?)
            }
        },
    );
}

fn render_module(model: &Model, files: &mut Files<'_>) {
    let mut uses = files.uses([]);
    let mut kinds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (group, version, resource) in model.resources().filter(|(.., resource)| resource.crd) {
        kinds
            .entry((group.name.as_str(), resource.kind.as_str()))
            .or_default()
            .push((group, version, resource));
    }
    let (definition, error) =
        (uses.runtime("crd::CustomResourceDefinition"), uses.runtime("crd::MergeError"));
    uses.runtime("CustomResourceExt");
    let mut definitions = Vec::new();
    for versions in kinds.values() {
        let types = versions.iter().map(|(group, version, resource)| {
            let object = uses.api_type(&resource.type_path, &group.accessor(version));
            quote!(#object::crd())
        });
        let types: Vec<_> = types.collect();
        definitions.push(match &types[..] {
            [only] => quote!(#only),
            _ => {
                // The checks have made sure that one version is marked as the stored one.
                let stored = versions.iter().find(|(.., resource)| resource.storage == Some(true));
                let stored = stored.or(versions.first()).map(|(_, version, _)| version.name.as_str());
                let merge_versions = uses.runtime("crd::merge_versions");
                quote!(#merge_versions([#(#types),*], #stored)?)
            }
        });
    }
    files.add(
        "crds.rs",
        &["The custom resource definitions of the kinds.".to_owned()],
        uses,
        quote! {
            /// Returns the definition of every kind with all of its versions. The folder `crds/` contains the same
            /// definitions as manifests.
            ///
            /// # Errors
            ///
            /// Returns an error if the versions of a kind cannot be merged into one definition.
            pub fn all() -> Result<Vec<#definition>, #error> {
                let definitions = [#(#definitions),*];
                Ok(definitions.into())
            }
        },
    );
}
