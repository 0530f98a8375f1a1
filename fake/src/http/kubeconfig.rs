//! The file that tells clients where the server is.

use std::{
    fmt, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::Serving;

/// The first line of a kubeconfig that may be overwritten.
const MARK: &str = "# Written by genclient-fake, which overwrites it.\n";

/// A kubeconfig of a server that runs.
///
/// It shows itself as the command that makes kubectl use it, `export KUBECONFIG=…`, quoted for a shell.
#[derive(Debug)]
pub struct KubeconfigFile {
    path: PathBuf,
    /// A temporary file is removed when it is dropped.
    _temporary: Option<NamedTempFile>,
}

impl KubeconfigFile {
    /// Returns the absolute path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for KubeconfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display().to_string();
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+=:@%".contains(char);
        if path.chars().all(is_plain) {
            write!(f, "export KUBECONFIG={path}")
        } else {
            write!(f, "export KUBECONFIG='{}'", path.replace('\'', r"'\''"))
        }
    }
}

impl Serving {
    /// Writes a kubeconfig for this server to a file, which stays.
    ///
    /// A file is replaced if it is empty or was written by this function; the kubeconfig of another cluster is not.
    ///
    /// # Errors
    /// If the file is another's, or cannot be written. The error names the file.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> io::Result<KubeconfigFile> {
        let path = path.as_ref();
        replace(path, &format!("{MARK}{}", self.kubeconfig())).map_err(|error| named(path, &error))?;
        let path = fs::canonicalize(path).map_err(|error| named(path, &error))?;
        Ok(KubeconfigFile { path, _temporary: None })
    }

    /// Writes a kubeconfig for this server to a temporary file, which is removed when the result is dropped.
    ///
    /// # Errors
    /// If there is no place for temporary files. The error names it.
    pub fn write_temporary_kubeconfig(&self) -> io::Result<KubeconfigFile> {
        let file = tempfile::Builder::new().prefix("genclient-fake-").suffix(".kubeconfig").tempfile();
        let mut file = file.map_err(|error| named(&std::env::temp_dir(), &error))?;
        let written = file.write_all(format!("{MARK}{}", self.kubeconfig()).as_bytes());
        written.map_err(|error| named(file.path(), &error))?;
        Ok(KubeconfigFile { path: file.path().to_owned(), _temporary: Some(file) })
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    match fs::read(path) {
        Ok(old) if !old.is_empty() && !old.starts_with(MARK.as_bytes()) => {
            let why = "it exists and was not written by this program; remove it or choose another file";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        // It is removed because it may be a link that must not be followed.
        Ok(_) => fs::remove_file(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    // The token in it opens the server to its reader.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write the kubeconfig {}: {error}", path.display()))
}
