//! The objects of the benchmark.
//!
//! Objects are told apart by a number. Of every hundred thousand, a hundred have the same label `app`,
//! and a thousand are in the same namespace; the groups are spread over the whole.

use std::fmt::Write as _;

use clap::ValueEnum;

/// How many objects have one value of the label `app`.
pub const OBJECTS_PER_APP: usize = 100;

/// How many objects are in one namespace.
pub const OBJECTS_PER_NAMESPACE: usize = 1000;

/// The form of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// A small custom resource of about 770 bytes.
    Network,
    /// A deployment of about 2 KB.
    Deployment,
    /// A pod of about 8 KB.
    Pod,
}

impl Shape {
    /// Its word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Deployment => "deployment",
            Self::Pod => "pod",
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::Network => "samplecrd.k8s.io/v1",
            Self::Deployment => "apps/v1",
            Self::Pod => "v1",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Network => "Network",
            Self::Deployment => "Deployment",
            Self::Pod => "Pod",
        }
    }

    /// What a list of such objects begins with, up to its items.
    pub fn list_head(self, version: u64, next: Option<usize>) -> String {
        let next = next.map_or(String::new(), |next| format!(r#""continue":"{next}","#));
        format!(
            r#"{{"apiVersion":"{}","kind":"{}List","metadata":{{{next}"resourceVersion":"{version}"}},"items":["#,
            self.api_version(),
            self.kind()
        )
    }

    /// A bookmark, which closes the initial events of a streamed list or not.
    pub fn bookmark(self, version: u64, closes_list: bool) -> String {
        let annotations =
            if closes_list { r#""annotations":{"k8s.io/initial-events-end":"true"},"# } else { "" };
        format!(
            r#"{{"type":"BOOKMARK","object":{{"apiVersion":"{}","kind":"{}","metadata":{{{annotations}"creationTimestamp":null,"resourceVersion":"{version}"}},"spec":{}}}}}"#,
            self.api_version(),
            self.kind(),
            match self {
                Self::Network => r#"{"cidr":"","gateway":""}"#,
                Self::Deployment => r#"{"selector":{},"template":{}}"#,
                Self::Pod => r#"{"containers":[]}"#,
            }
        )
    }

    /// The object of this number, of `count`, at this version, as a server sends it.
    pub fn object(self, number: usize, count: usize, version: u64) -> String {
        self.with_metadata(&self.metadata(number, count, version), number, count)
    }

    /// The object of this number, of `count`, as a user creates it.
    pub fn manifest(self, number: usize, count: usize) -> String {
        let metadata = format!(
            r#"{{"annotations":{{"example.com/revision":"0"}},"labels":{},"name":"{}","namespace":"{}"}}"#,
            labels(number, count),
            name(number),
            namespace(number, count)
        );
        self.with_metadata(&metadata, number, count)
    }

    /// The path of the collection of such objects in a namespace.
    pub fn collection(self, namespace: &str) -> String {
        match self {
            Self::Network => format!("/apis/samplecrd.k8s.io/v1/namespaces/{namespace}/networks"),
            Self::Deployment => format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
            Self::Pod => format!("/api/v1/namespaces/{namespace}/pods"),
        }
    }

    fn with_metadata(self, metadata: &str, number: usize, count: usize) -> String {
        let mut text = format!(
            r#"{{"apiVersion":"{}","kind":"{}","metadata":{metadata}"#,
            self.api_version(),
            self.kind(),
        );
        match self {
            Self::Network => {
                let (high, low) = (number / 256 % 256, number % 256);
                write_to(
                    &mut text,
                    format_args!(
                        r#","spec":{{"cidr":"10.{high}.{low}.0/24","gateway":"10.{high}.{low}.1"}}}}"#
                    ),
                );
            }
            Self::Deployment => {
                write_to(
                    &mut text,
                    format_args!(
                        r#","spec":{{"progressDeadlineSeconds":600,"replicas":3,"revisionHistoryLimit":10,"selector":{{"matchLabels":{{"app":"{app}"}}}},"strategy":{{"rollingUpdate":{{"maxSurge":"25%","maxUnavailable":"25%"}},"type":"RollingUpdate"}},"template":{{"metadata":{{"labels":{{"app":"{app}"}}}},"spec":{{{}}}}}}},"status":{{"availableReplicas":3,"conditions":[{{"lastTransitionTime":"2026-01-01T00:00:00Z","lastUpdateTime":"2026-01-01T00:00:00Z","message":"Deployment has minimum availability.","reason":"MinimumReplicasAvailable","status":"True","type":"Available"}}],"observedGeneration":1,"readyReplicas":3,"replicas":3,"updatedReplicas":3}}}}"#,
                        pod_spec(1, 4),
                        app = app(number, count),
                    ),
                );
            }
            Self::Pod => {
                write_to(
                    &mut text,
                    format_args!(
                        r#","spec":{{{}}},"status":{{"conditions":[{{"lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z","status":"True","type":"Ready"}},{{"lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z","status":"True","type":"PodScheduled"}}],"hostIP":"10.0.0.{}","phase":"Running","podIP":"10.1.{}.{}","qosClass":"Burstable","startTime":"2026-01-01T00:00:00Z"}}}}"#,
                        pod_spec(4, 12),
                        number % 200,
                        number / 256 % 256,
                        number % 256,
                    ),
                );
            }
        }
        text
    }

    fn metadata(self, number: usize, count: usize, version: u64) -> String {
        // The version of the object is in an annotation too, so that an update changes what users see.
        format!(
            r#"{{"annotations":{{"example.com/revision":"{version}"}},"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"labels":{},"managedFields":{},"name":"{}","namespace":"{}","resourceVersion":"{version}","uid":"00000000-0000-4000-8000-{number:012}"}}"#,
            labels(number, count),
            self.managed_fields(),
            name(number),
            namespace(number, count),
        )
    }

    fn managed_fields(self) -> String {
        let entry = |manager: &str, fields: &str| {
            format!(
                r#"{{"apiVersion":"{}","fieldsType":"FieldsV1","fieldsV1":{fields},"manager":"{manager}","operation":"Update","time":"2026-01-01T00:00:00Z"}}"#,
                self.api_version()
            )
        };
        let create = entry(
            "kubectl-create",
            r#"{"f:metadata":{"f:annotations":{".":{},"f:example.com/revision":{}},"f:labels":{".":{},"f:app":{},"f:team":{},"f:tier":{}}},"f:spec":{"f:cidr":{},"f:gateway":{}}}"#,
        );
        match self {
            Self::Network => format!("[{create}]"),
            Self::Deployment | Self::Pod => {
                let spec = r#"{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{}}}"#;
                format!("[{create},{}]", entry("kube-controller-manager", spec))
            }
        }
    }
}

/// The name of the object of this number.
pub fn name(number: usize) -> String {
    format!("object-{number:07}")
}

/// The namespace of the object of this number, of `count`.
pub fn namespace(number: usize, count: usize) -> String {
    format!("namespace-{:04}", number % (count / OBJECTS_PER_NAMESPACE).max(1))
}

/// The label `app` of the object of this number, of `count`.
pub fn app(number: usize, count: usize) -> String {
    format!("app-{:05}", number % (count / OBJECTS_PER_APP).max(1))
}

fn labels(number: usize, count: usize) -> String {
    format!(r#"{{"app":"{}","team":"team-{:02}","tier":"backend"}}"#, app(number, count), number % 20)
}

fn pod_spec(containers: usize, variables: usize) -> String {
    let mut spec = String::from(r#""containers":["#);
    for container in 0..containers {
        let comma = if container == 0 { "" } else { "," };
        write_to(&mut spec, format_args!(r#"{comma}{{"env":["#));
        for variable in 0..variables {
            let comma = if variable == 0 { "" } else { "," };
            write_to(
                &mut spec,
                format_args!(
                    r#"{comma}{{"name":"SETTING_{variable:02}","value":"a value that the program {container} of the pod is told on its way {variable}"}}"#
                ),
            );
        }
        write_to(
            &mut spec,
            format_args!(
                r#"],"image":"registry.example.com/group/program-{container}:1.2.3","imagePullPolicy":"IfNotPresent","name":"program-{container}","ports":[{{"containerPort":8080,"name":"http","protocol":"TCP"}}],"readinessProbe":{{"failureThreshold":3,"httpGet":{{"path":"/readyz","port":"http","scheme":"HTTP"}},"periodSeconds":10,"successThreshold":1,"timeoutSeconds":1}},"resources":{{"limits":{{"cpu":"500m","memory":"256Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}}"#
            ),
        );
    }
    spec.push_str(r#"],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","serviceAccountName":"default","terminationGracePeriodSeconds":30"#);
    spec
}

fn write_to(text: &mut String, part: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_sound_and_has_the_size_that_it_claims() {
        for (shape, least, most) in
            [(Shape::Network, 700, 840), (Shape::Deployment, 2000, 4000), (Shape::Pod, 7500, 8800)]
        {
            let text = shape.object(4711, 100_000, 4711);
            assert!((least..most).contains(&text.len()), "{shape:?} has {} bytes", text.len());
            let manifest = shape.manifest(4711, 100_000);
            let list = format!("{}]}}", shape.list_head(1, Some(500)));
            for text in [text, manifest, shape.bookmark(1, true), list] {
                assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
            }
        }
    }
}
