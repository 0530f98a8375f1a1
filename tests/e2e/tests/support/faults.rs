//! A control plane for the tests that harm it, one after the other.

use std::ops::Deref;

use genclient_testenv::TestEnv;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use super::install_crds;

/// The control plane, for one test at a time.
pub struct FaultyCluster {
    env: &'static TestEnv,
    _turn: MutexGuard<'static, ()>,
}

impl Deref for FaultyCluster {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        self.env
    }
}

/// Waits for this test's turn, and repairs what a test before it may have left: the API server runs,
/// and the definitions are those that were generated.
///
/// The first call decides on the server's flags; a test program gives the same ones everywhere.
pub async fn faulty_cluster(apiserver_args: &[&str]) -> FaultyCluster {
    static CLUSTER: OnceCell<TestEnv> = OnceCell::const_new();
    static TURN: Mutex<()> = Mutex::const_new(());
    let turn = TURN.lock().await;
    // No test needs garbage collection here, and every server less is memory for the others.
    let builder = TestEnv::builder().own_servers().without_controller_manager();
    let builder = apiserver_args.iter().fold(builder, |builder, arg| builder.apiserver_arg(*arg));
    let env = CLUSTER.get_or_try_init(|| builder.start()).await.expect("a control plane of its own starts");
    if !env.processes().iter().any(|(name, _)| *name == "kube-apiserver") {
        env.apiserver().start().await.expect("the API server starts again");
    }
    env.apiserver().resume().expect("the API server goes on");
    install_crds(env).await;
    FaultyCluster { env, _turn: turn }
}
