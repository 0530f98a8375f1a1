//! Where folders are: one form for each of them, and the way from one to another.

use std::path::{Component, Path, PathBuf};

/// The absolute path of a folder without links, whether it is there or not. One folder has one such path.
pub(crate) fn absolute(folder: &Path) -> PathBuf {
    let written = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let existing = written.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match existing {
        Some((above, place)) => match written.strip_prefix(above) {
            Ok(rest) if !rest.as_os_str().is_empty() => place.join(rest),
            _ => place,
        },
        None => written,
    }
}

/// The way from one folder to another, with forward slashes.
pub(crate) fn relative(from: &Path, to: &Path) -> String {
    let (from, to) = (absolute(from), absolute(to));
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, from.len() - common);
    let way: PathBuf = up.chain(to[common..].iter().copied()).collect();
    if way.as_os_str().is_empty() { ".".to_owned() } else { slashes(&way) }
}

/// A path with forward slashes, as manifests have it on every system.
fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_path_and_there_is_a_way_to_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        assert_eq!(absolute(&root.join("a/b/../c/d")), root.join("a/c/d"));
        for (from, to, way) in [
            ("a/b", "a/b", "."),
            ("a/b", "a", ".."),
            ("a/new/client", "a/b", "../../b"),
            ("a/b/../../x", "a/b", "../a/b"),
        ] {
            assert_eq!(relative(&root.join(from), &root.join(to)), way, "{from} {to}");
        }
    }
}
