//! The runtime has no unbounded channel.

use std::{fs, path::Path};

/// The calls that create an unbounded channel.
const UNBOUNDED: [&str; 4] =
    ["unbounded_channel", "mpsc::unbounded", "flume::unbounded", "sync::mpsc::channel"];

fn offences(folder: &Path, found: &mut Vec<String>, files: &mut usize) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            offences(&path, found, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *files += 1;
            let text = fs::read_to_string(&path).expect("a source file");
            for (number, line) in text.lines().enumerate() {
                if UNBOUNDED.iter().any(|name| line.contains(name)) {
                    found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
                }
            }
        }
    }
}

#[test]
fn the_runtime_has_no_unbounded_channel() {
    let (mut found, mut files) = (Vec::new(), 0);
    offences(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found, &mut files);
    assert!(files > 10, "the sources were found");
    assert!(found.is_empty(), "{found:#?}");
}
