//! `genclient list`: every kind in a table.

use genclient::{config::ClientConfig, model::Model, source::Sources, verb::Verb};

use crate::print::out;

/// One line of the table.
pub(crate) type Row = [String; 8];

pub(crate) fn rows(model: &Model, sources: &Sources, client: &ClientConfig) -> Vec<Row> {
    let mut rows = Vec::new();
    for (group, version, resource) in model.resources() {
        let verbs: Vec<_> = resource.verbs.iter().map(|verb| verb.name()).collect();
        let verbs = match resource.verbs.len() {
            0 => "-".to_owned(),
            all if all == Verb::ALL.len() => "all".to_owned(),
            _ => verbs.join(","),
        };
        let methods: String = resource.methods.iter().map(|method| format!(",{}()", method.name)).collect();
        let mut generated = vec!["client"];
        if resource.verbs.contains(&Verb::Apply) {
            generated.push("apply");
        }
        if resource.has_lister() {
            generated.push("lister");
        }
        if resource.has_informer() {
            generated.push("informer");
        }
        if resource.crd && client.crds {
            generated.push("crd");
        }
        let file = &sources.files[resource.location.file];
        rows.push([
            group.display_name().to_owned(),
            version.name.clone(),
            resource.kind.clone(),
            resource.plural.clone(),
            if resource.namespaced { "Namespaced" } else { "Cluster" }.to_owned(),
            format!("{verbs}{methods}"),
            generated.join(","),
            format!("{}:{}", file.path, resource.location.line),
        ]);
    }
    rows
}

pub(crate) fn print(rows: &[Row]) {
    let heading: Row =
        ["GROUP", "VERSION", "KIND", "PLURAL", "SCOPE", "VERBS", "GENERATED", "SOURCE"].map(str::to_owned);
    let mut widths = [0; 8];
    for row in std::iter::once(&heading).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in std::iter::once(&heading).chain(rows) {
        let line: String = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  ")).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    out(&text);
}
