//! Skips tests whose servers are not available.

use std::io::Write;

use crate::{Error, Server, ensure_installed};

/// Returns from the test with a message if the servers that it needs are neither installed nor can be built.
///
/// The arguments are the required [`Server`]s; Kubernetes by default. Kubernetes may also be the cluster of
/// `GENCLIENT_TEST_KUBECONFIG`; a test that uses [`own_servers`](crate::Builder::own_servers) requires
/// `ControlPlane`.
///
/// * The test harness does not capture the message, so it is visible in every run.
/// * If `GENCLIENT_SKIPPED` names a file, a line is added to it, so that a script can count what was skipped.
/// * With `CI=true` a missing server is a failure, not a skip.
/// * A server that could be built, but whose build fails, is always a failure.
///
/// ```no_run
/// # use genclient_testenv::{TestEnv, require_servers};
/// #[tokio::test]
/// async fn a_network_survives_a_restart() {
///     require_servers!(Kubernetes, Neutron);
///     let env = TestEnv::start().await.unwrap();
/// }
/// ```
#[macro_export]
macro_rules! require_servers {
    () => {
        $crate::require_servers!(Kubernetes)
    };
    ($($server:ident),+ $(,)?) => {
        if !$crate::available(&[$($crate::Server::$server),+]) {
            return $crate::Skipped::skipped();
        }
    };
}

/// The return value of a skipped test.
pub trait Skipped {
    /// Returns the value of a skipped test.
    fn skipped() -> Self;
}

impl Skipped for () {
    fn skipped() {}
}

impl<E> Skipped for Result<(), E> {
    fn skipped() -> Self {
        Ok(())
    }
}

/// Builds the servers if necessary. Returns whether they are available, and prints a message if they are not.
///
/// # Panics
/// Panics if a server is missing and `CI=true`, or if a build fails.
pub fn available(servers: &[Server]) -> bool {
    let external = std::env::var_os("GENCLIENT_TEST_KUBECONFIG").is_some();
    for &server in servers.iter().filter(|server| !(external && **server == Server::Kubernetes)) {
        let Err(error) = ensure_installed(server) else { continue };
        let may_skip =
            matches!(error, Error::NotInstalled { .. }) && std::env::var("CI").as_deref() != Ok("true");
        assert!(may_skip, "{error}");
        tell(&error);
        return false;
    }
    true
}

fn tell(error: &Error) {
    let thread = std::thread::current();
    let line =
        format!("SKIPPED {}: {}", thread.name().unwrap_or("a test"), error.to_string().replace('\n', " "));
    // The test is skipped even if standard error is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
    if let Some(file) = std::env::var_os("GENCLIENT_SKIPPED") {
        let added = std::fs::OpenOptions::new().create(true).append(true).open(&file);
        // A skip that cannot be counted must not look like a pass.
        added
            .and_then(|mut file| writeln!(file, "{line}"))
            .expect("the file in GENCLIENT_SKIPPED can be written");
    }
}
