//! Prepares the README's Rust blocks to be compiled as documentation tests, and reads its configuration. What a reader copies into a
//! module stays as it is; what a reader copies into a function is put into one.

use std::{env, error::Error, fs, path::Path};

use genclient::config::Config;

fn main() -> Result<(), Box<dyn Error>> {
    let readme = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../README.md");
    println!("cargo::rerun-if-changed={}", readme.display());
    let text = fs::read_to_string(readme)?;
    let example = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../controller/examples/smallest.rs");
    println!("cargo::rerun-if-changed={}", example.display());
    let example = fs::read_to_string(example)?;
    let mut prepared = String::new();
    let (mut programs, mut configurations) = (0, 0);
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 0 {
            prepared.push('\n');
            continue;
        }
        let (tag, code) = part.split_once('\n').ok_or("a block of the README has no end")?;
        match tag {
            // A part of an example is compiled there.
            "rust" if example.ends_with(code) => {}
            "rust" => {
                programs += 1;
                // What needs no cluster is run, too.
                let tag = if code.contains("fake::Clientset") { "" } else { "no_run" };
                prepared += &format!("```{tag}\n{}```", program(code));
            }
            "toml" => {
                configurations += 1;
                Config::parse(code)?;
            }
            "sh" | "text" => {}
            tag => return Err(format!("a block of the README is tagged `{tag}`: nothing checks it").into()),
        }
    }
    // A block that is no longer found would be one that is no longer checked.
    if programs < 2 || configurations < 1 {
        return Err(format!("only {programs} programs and {configurations} configurations were found").into());
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("readme.md"), prepared)?;
    Ok(())
}

fn program(code: &str) -> String {
    if !code.contains(".await") || code.contains("fn main") {
        return format!("{code}\nfn main() {{}}\n");
    }
    format!(
        "#[tokio::main]\nasync fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{code}Ok(())\n}}\n"
    )
}
