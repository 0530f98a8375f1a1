//! `genclient explain`: the attributes, each with an example.

use genclient::{
    attr::{ATTRIBUTES, Attribute},
    diag::did_you_mean,
};

use crate::report::Failure;

pub(crate) fn run(name: Option<&str>) -> Result<u8, Failure> {
    match name {
        None => {
            println!("The attributes of `#[genclient(…)]`; `genclient explain NAME` shows an example.\n");
            let width = ATTRIBUTES.iter().map(|attribute| attribute.name.len()).max().unwrap_or_default();
            for attribute in ATTRIBUTES {
                println!("  {:width$}  {}", attribute.name, attribute.summary);
            }
            Ok(0)
        }
        Some(name) => match ATTRIBUTES.iter().find(|attribute| attribute.name == name) {
            Some(attribute) => {
                print(attribute);
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

fn print(attribute: &Attribute) {
    println!("{}\n", attribute.form);
    println!("  {}", attribute.summary);
    if !attribute.details.is_empty() {
        println!("  {}", attribute.details);
    }
    if attribute.repeatable {
        println!("  It may stand more than once.");
    }
    if !attribute.go.is_empty() {
        println!("\nIn Go: {}", attribute.go);
    }
    println!("\nExample:\n");
    println!("  #[derive(Clone, Debug, GenClient)]");
    println!("  #[genclient({})]", attribute.example);
    println!("  pub struct Network {{ … }}");
}
