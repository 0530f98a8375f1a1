//! Prepares the README's Rust blocks to be compiled as documentation tests. What a reader copies into a
//! module stays as it is; what a reader copies into a function is put into one.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let readme = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../README.md");
    println!("cargo::rerun-if-changed={}", readme.display());
    let text = fs::read_to_string(readme)?;
    let mut prepared = String::new();
    for (number, part) in text.split("```").enumerate() {
        match part.strip_prefix("rust\n").filter(|_| number % 2 == 1) {
            Some(code) => prepared += &format!("```no_run\n{}```", program(code)),
            // Only the Rust blocks are of interest; any other one is a text.
            None if number % 2 == 1 => prepared += "```text\n```",
            None => prepared += "\n",
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("readme.md"), prepared)?;
    Ok(())
}

fn program(code: &str) -> String {
    match code.contains(".await") && !code.contains("fn main") {
        false => format!("{code}\nfn main() {{}}\n"),
        true => format!(
            "#[tokio::main]\nasync fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{code}Ok(())\n}}\n"
        ),
    }
}
