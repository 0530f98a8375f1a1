//! Workloads: the kinds that make pods.

use serde_json::{Value, json};

use super::{each, pod, set_defaults};
use crate::{
    json::{at, object, set, set_default},
    metadata,
};

fn template(value: &mut Value) {
    pod::spec(at(value, "spec.template.spec"));
}

pub(super) fn deployment(value: &mut Value) {
    template(value);
    set_defaults(
        value,
        &[
            ("spec.replicas", json!(1)),
            ("spec.strategy.type", json!("RollingUpdate")),
            ("spec.revisionHistoryLimit", json!(10)),
            ("spec.progressDeadlineSeconds", json!(600)),
        ],
    );
    if value["spec"]["strategy"]["type"] == "RollingUpdate" {
        set_default(value, "spec.strategy.rollingUpdate.maxUnavailable", "25%");
        set_default(value, "spec.strategy.rollingUpdate.maxSurge", "25%");
    }
}

pub(super) fn replica_set(value: &mut Value) {
    template(value);
    set_default(value, "spec.replicas", 1);
}

pub(super) fn replication_controller(value: &mut Value) {
    template(value);
    set_default(value, "spec.replicas", 1);
    let labels = value["spec"]["template"]["metadata"]["labels"].clone();
    if labels.is_object() {
        set_default(value, "spec.selector", labels.clone());
        set_default(value, "metadata.labels", labels);
    }
}

pub(super) fn stateful_set(value: &mut Value) {
    template(value);
    set_defaults(
        value,
        &[
            ("spec.replicas", json!(1)),
            ("spec.podManagementPolicy", json!("OrderedReady")),
            ("spec.updateStrategy.type", json!("RollingUpdate")),
            ("spec.revisionHistoryLimit", json!(10)),
            ("spec.persistentVolumeClaimRetentionPolicy.whenDeleted", json!("Retain")),
            ("spec.persistentVolumeClaimRetentionPolicy.whenScaled", json!("Retain")),
        ],
    );
    if value["spec"]["updateStrategy"]["type"] == "RollingUpdate" {
        set_default(value, "spec.updateStrategy.rollingUpdate.partition", 0);
    }
    each(value, "spec.volumeClaimTemplates", |claim| {
        set(claim, "kind", "PersistentVolumeClaim");
        set(claim, "apiVersion", "v1");
        set_default(claim, "spec.volumeMode", "Filesystem");
        set_default(claim, "status.phase", "Pending");
    });
}

pub(super) fn daemon_set(value: &mut Value) {
    template(value);
    set_default(value, "spec.updateStrategy.type", "RollingUpdate");
    if value["spec"]["updateStrategy"]["type"] == "RollingUpdate" {
        set_default(value, "spec.updateStrategy.rollingUpdate.maxUnavailable", 1);
        set_default(value, "spec.updateStrategy.rollingUpdate.maxSurge", 0);
    }
    set_default(value, "spec.revisionHistoryLimit", 10);
    let annotations = object(at(value, "metadata.annotations"));
    annotations.entry("deprecated.daemonset.template.generation").or_insert_with(|| "1".into());
}

pub(super) fn job(spec: &mut Value) {
    pod::spec(at(spec, "template.spec"));
    let parallel = spec["parallelism"].is_null() && spec["completions"].is_null();
    if parallel {
        set(spec, "completions", 1);
    }
    set_defaults(
        spec,
        &[
            ("parallelism", json!(1)),
            ("backoffLimit", json!(6)),
            ("completionMode", json!("NonIndexed")),
            ("suspend", json!(false)),
            ("manualSelector", json!(false)),
            ("podReplacementPolicy", json!("TerminatingOrFailed")),
        ],
    );
}

pub(super) fn cron_job(value: &mut Value) {
    pod::spec(at(value, "spec.jobTemplate.spec.template.spec"));
    set_defaults(
        value,
        &[
            ("spec.concurrencyPolicy", json!("Allow")),
            ("spec.suspend", json!(false)),
            ("spec.successfulJobsHistoryLimit", json!(3)),
            ("spec.failedJobsHistoryLimit", json!(1)),
        ],
    );
}

/// Sets the labels by which a job finds its pods.
pub(super) fn label_job(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let (name, uid) = (metadata::text(job, "name").to_owned(), metadata::text(job, "uid").to_owned());
    let labels = [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ];
    for path in ["metadata.labels", "spec.template.metadata.labels"] {
        let found = object(at(job, path));
        for (key, value) in labels {
            found.entry(key).or_insert_with(|| value.as_str().into());
        }
    }
    let selector = object(at(job, "spec.selector.matchLabels"));
    selector.insert("batch.kubernetes.io/controller-uid".to_owned(), uid.into());
}
