//! The controller that logs Deployments.

use genclient_testenv::require_servers;

use crate::support::{Cluster, Controller};

#[tokio::test]
async fn it_logs_the_deployments_of_its_namespace_that_are_added_updated_and_deleted() {
    require_servers!();
    let (cluster, other) = (Cluster::shared("logger").await, Cluster::shared("elsewhere").await);
    cluster.kubectl(&["create", "deployment", "early", "--image=busybox"]).await;
    let logger = cluster.example("deployment_logger", &[]);
    let key = |name: &str| format!("key={}/{name}", cluster.namespace);
    logger.says(&["starting workers", "workers=2"]).await;
    logger.says(&["deployment added", &key("early"), "wanted=1"]).await;

    other.kubectl(&["create", "deployment", "web", "--image=busybox"]).await;
    cluster.kubectl(&["create", "deployment", "web", "--image=busybox"]).await;
    logger.says(&["deployment added", &key("web")]).await;
    cluster.kubectl(&["scale", "deployment", "web", "--replicas=3"]).await;
    logger.says(&["deployment updated", &key("web"), "wanted=3"]).await;
    cluster.kubectl(&["delete", "deployment", "web"]).await;
    logger.says(&["deployment deleted", &key("web"), "wanted=3"]).await;
    // The same name again is another object.
    cluster.kubectl(&["create", "deployment", "web", "--image=busybox"]).await;
    logger.says_times(2, &["deployment added", &key("web")]).await;

    let log = logger.stop().await;
    assert!(!log.says(&other.namespace), "{log:#?}");
    assert_eq!(log.log.iter().filter(|line| line.contains("deployment deleted")).count(), 1, "{log:#?}");
    assert!(log.says("stopped"), "{log:#?}");
}

#[tokio::test]
async fn a_resync_calls_the_handler_again_and_queues_nothing() {
    require_servers!();
    let cluster = Cluster::shared("resync").await;
    cluster.kubectl(&["create", "deployment", "idle", "--image=busybox", "--replicas=0"]).await;
    let logger = cluster.example("deployment_logger", &["--resync", "1s", "-v"]);
    logger.says_times(3, &["resynced: unchanged, and not queued", "/idle"]).await;
    assert_eq!(logger.count(&["deployment added"]), 1);
    logger.stop().await;

    let short = Controller::example(cluster.env, "deployment_logger", &["--resync", "10ms"]).ended().await;
    assert_eq!(short.status.code(), Some(1), "{short:#?}");
    assert!(short.says("10ms"), "{short:#?}");
}
