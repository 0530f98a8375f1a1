//! The program that logs Pods.

use genclient_testenv::require_servers;
use serde_json::json;

use super::{apply, pod};
use crate::support::Cluster;

#[tokio::test]
async fn it_logs_the_pods_that_are_added_and_updated_with_their_annotation_and_their_label() {
    require_servers!();
    let cluster = Cluster::shared("pods").await;
    apply(&cluster, &pod("plain", json!({ "app": "another.com" }), json!({ "tests": "no" }))).await;
    let watch = cluster.example("pod_watch", &[]);
    let key = |name: &str| format!("key={}/{name}", cluster.namespace);
    watch.says(&["pod added", &key("plain")]).await;

    apply(&cluster, &pod("good", json!({ "app": "bjzdgt.com" }), json!({ "test": "yes" }))).await;
    watch.says(&["pod added", &key("good")]).await;
    watch.says(&["this pod is a good pod", &key("good")]).await;
    watch.says(&["it has the label test", &key("good"), "yes"]).await;

    cluster.kubectl(&["label", "pod", "plain", "test="]).await;
    watch.says(&["pod updated", &key("plain")]).await;
    watch.says(&["it has the label test", &key("plain")]).await;
    cluster.kubectl(&["delete", "pod", "good", "--now"]).await;
    apply(&cluster, &pod("last", json!({}), json!({}))).await;
    watch.says(&["pod added", &key("last")]).await;
    let log = watch.stop().await;
    let good = |line: &&String| line.contains("good pod") && line.contains(&key("plain"));
    assert_eq!(log.log.iter().filter(good).count(), 0, "{log:#?}");
}
