//! What a test does when the servers it needs cannot be had: it skips, loudly, or fails where that is wanted.

use std::io::Write;

use crate::{Error, Server, ensure_installed};

/// Returns from the test, with a message, when the servers it needs can neither be found nor be built here.
///
/// Without an argument it asks for Kubernetes; otherwise for the [`Server`]s that are named. Kubernetes may also be
/// the cluster that `GENCLIENT_TEST_KUBECONFIG` names; a test that uses
/// [`own_servers`](crate::Builder::own_servers) asks for `ControlPlane`.
///
/// * The message is written past the test harness's capture, so it is seen in every run.
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

/// What a skipped test returns.
pub trait Skipped {
    /// The value of a test that was not run.
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

/// Whether the servers are there, after building them where that is possible; says so if they are not.
///
/// # Panics
/// When a server is missing and `CI=true`, and when a build fails: the calling test then fails.
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
    // Nobody is left to tell when standard error is closed; the test is skipped all the same.
    let _ = writeln!(std::io::stderr(), "{line}");
    if let Some(file) = std::env::var_os("GENCLIENT_SKIPPED") {
        let added = std::fs::OpenOptions::new().create(true).append(true).open(&file);
        // A skip that cannot be counted must not look like a pass.
        added
            .and_then(|mut file| writeln!(file, "{line}"))
            .expect("the file in GENCLIENT_SKIPPED can be written");
    }
}
