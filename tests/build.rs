//! Prepares the README's Rust blocks to be compiled as documentation tests, and reads its configuration. What a reader
//! copies into a module stays as it is; what a reader copies into a function is put into one. A block that is the end of
//! an example is compiled there. `docs/controllers.md` has such blocks only.

use std::{env, error::Error, fs, path::Path};

use genclient::config::Config;

fn main() -> Result<(), Box<dyn Error>> {
    let text = read("README.md")?;
    let examples = [read("controller/examples/smallest.rs")?, read("controller/examples/by_hand.rs")?];
    let is_of_example = |code: &str| examples.iter().any(|example| example.ends_with(code));
    let page = read("docs/controllers.md")?;
    let blocks: Vec<_> =
        page.split("```rust\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    if blocks.len() < 2 || !blocks.iter().all(|code| is_of_example(code)) {
        return Err("a block of docs/controllers.md is not the end of an example".into());
    }
    let mut prepared = String::new();
    let (mut programs, mut configurations) = (0, 0);
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 0 {
            prepared.push('\n');
            continue;
        }
        let (tag, code) = part.split_once('\n').ok_or("a block of the README has no end")?;
        match tag {
            "rust" if is_of_example(code) => {}
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

/// Reads a file of the repository.
fn read(path: &str) -> Result<String, Box<dyn Error>> {
    let path = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..").join(path);
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn program(code: &str) -> String {
    if !code.contains(".await") || code.contains("fn main") {
        return format!("{code}\nfn main() {{}}\n");
    }
    format!(
        "#[tokio::main]\nasync fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{code}Ok(())\n}}\n"
    )
}
