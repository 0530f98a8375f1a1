//! `genclient explain`: the attributes, each with an example.

use genclient::{
    attr::{ATTRIBUTES, Attribute},
    diag::did_you_mean,
};

use crate::{print::out, report::Failure};

pub(crate) fn run(name: Option<&str>) -> Result<u8, Failure> {
    match name {
        None => {
            let mut text = String::from(
                "The attributes of `#[genclient(…)]`; `genclient explain NAME` shows an example.\n\n",
            );
            let width = ATTRIBUTES.iter().map(|attribute| attribute.name.len()).max().unwrap_or_default();
            for attribute in ATTRIBUTES {
                text += &format!("  {:width$}  {}\n", attribute.name, attribute.summary);
            }
            out(&text);
            Ok(0)
        }
        Some(name) => match ATTRIBUTES.iter().find(|attribute| attribute.name == name) {
            Some(attribute) => {
                out(&explanation(attribute));
                Ok(0)
            }
            None => {
                let near = did_you_mean(name, ATTRIBUTES.iter().map(|attribute| attribute.name));
                let help = near.map(|near| format!("did you mean `{near}`?"));
                Err(Failure::message(format!("there is no attribute `{name}`"))
                    .help(help.as_deref().unwrap_or("`genclient explain` lists every attribute")))
            }
        },
    }
}

fn explanation(attribute: &Attribute) -> String {
    let mut lines = vec![attribute.form.to_owned(), String::new(), format!("  {}", attribute.summary)];
    if !attribute.details.is_empty() {
        lines.push(format!("  {}", attribute.details));
    }
    if attribute.repeatable {
        lines.push("  It may stand more than once.".to_owned());
    }
    if !attribute.go.is_empty() {
        lines.extend([String::new(), format!("In Go: {}", attribute.go)]);
    }
    lines.extend(["", "Example:", "", "  #[derive(Clone, Debug, GenClient)]"].map(str::to_owned));
    lines.push(format!("  #[genclient({})]", attribute.example));
    lines.push("  pub struct Network { … }\n".to_owned());
    lines.join("\n")
}
