//! The columns of Kubernetes' own kinds.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    age::{age, age_of},
    cluster, workloads,
};

/// A column of a kind.
pub(super) struct Column {
    pub name: &'static str,
    pub kind: &'static str,
    /// Columns of the priority 1 are shown with `-o wide` only.
    pub priority: i64,
}

/// The cells of an object.
pub(super) type Cells = fn(&Value, Timestamp) -> Vec<Value>;

/// The columns of a kind, and the cells of its objects.
pub(super) struct Table {
    pub columns: &'static [Column],
    pub cells: Cells,
}

pub(super) const fn column(name: &'static str) -> Column {
    Column { name, kind: "string", priority: 0 }
}

pub(super) const fn wide(name: &'static str) -> Column {
    Column { name, kind: "string", priority: 1 }
}

pub(super) const fn integer(name: &'static str) -> Column {
    Column { name, kind: "integer", priority: 0 }
}

const PODS: &[Column] = &[
    column("Name"),
    column("Ready"),
    column("Status"),
    column("Restarts"),
    column("Age"),
    wide("IP"),
    wide("Node"),
    wide("Nominated Node"),
    wide("Readiness Gates"),
];
const DEPLOYMENTS: &[Column] = &[
    column("Name"),
    column("Ready"),
    column("Up-to-date"),
    column("Available"),
    column("Age"),
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const REPLICA_SETS: &[Column] = &[
    column("Name"),
    integer("Desired"),
    integer("Current"),
    integer("Ready"),
    column("Age"),
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const SERVICES: &[Column] = &[
    column("Name"),
    column("Type"),
    column("Cluster-IP"),
    column("External-IP"),
    column("Port(s)"),
    column("Age"),
    wide("Selector"),
];
const EVENTS: &[Column] = &[
    column("Last Seen"),
    column("Type"),
    column("Reason"),
    column("Object"),
    wide("Subobject"),
    wide("Source"),
    column("Message"),
    wide("First Seen"),
    wide("Count"),
    wide("Name"),
];

/// The table of a kind, if it has one of its own.
pub(super) fn table(group: &str, kind: &str) -> Option<Table> {
    let (columns, cells): (&'static [Column], Cells) = match (group, kind) {
        ("", "Pod") => (PODS, pod),
        ("apps", "Deployment") => (DEPLOYMENTS, deployment),
        ("apps", "ReplicaSet") => (REPLICA_SETS, replica_set),
        ("", "Service") => (SERVICES, service),
        ("", "ConfigMap") => (const { &[column("Name"), column("Data"), column("Age")] }, |object, now| {
            vec![
                name(object),
                (entries(&object["data"]) + entries(&object["binaryData"])).into(),
                created(object, now),
            ]
        }),
        ("", "Secret") => {
            (const { &[column("Name"), column("Type"), column("Data"), column("Age")] }, |object, now| {
                vec![
                    name(object),
                    text(&object["type"]).into(),
                    entries(&object["data"]).into(),
                    created(object, now),
                ]
            })
        }
        ("", "Namespace") => (const { &[column("Name"), column("Status"), column("Age")] }, |object, now| {
            vec![name(object), text(&object["status"]["phase"]).into(), created(object, now)]
        }),
        ("", "ServiceAccount") => (const { &[column("Name"), column("Age")] }, |object, now| {
            vec![name(object), created(object, now)]
        }),
        ("coordination.k8s.io", "Lease") => {
            (const { &[column("Name"), column("Holder"), column("Age")] }, |object, now| {
                vec![name(object), text(&object["spec"]["holderIdentity"]).into(), created(object, now)]
            })
        }
        ("", "Event") => (EVENTS, event),
        ("events.k8s.io", "Event") => (EVENTS, |object, now| {
            let mut object = object.clone();
            crate::kinds::events::to_core(&mut object);
            event(&object, now)
        }),
        _ => workloads::table(group, kind).or_else(|| cluster::table(group, kind))?,
    };
    Some(Table { columns, cells })
}

pub(super) fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

pub(super) fn created(object: &Value, now: Timestamp) -> Value {
    age_of(&object["metadata"]["creationTimestamp"], now)
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn text_or_none(value: &Value) -> Value {
    match text(value) {
        "" => "<none>".into(),
        text => text.into(),
    }
}

pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn entries(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

/// Labels as kubectl writes them: `app=a,tier=b`.
pub(super) fn entries_text(labels: &Value) -> String {
    let labels = labels.as_object().into_iter().flatten();
    let labels: Vec<_> = labels.map(|(key, value)| format!("{key}={}", text(value))).collect();
    if labels.is_empty() { "<none>".to_owned() } else { labels.join(",") }
}

fn joined<'a>(items: impl Iterator<Item = &'a str>) -> String {
    items.collect::<Vec<_>>().join(",")
}

/// The names and the images of containers.
pub(super) fn containers(template: &Value) -> [Value; 2] {
    let containers = list(&template["spec"]["containers"]);
    ["name", "image"].map(|key| joined(containers.iter().map(|container| text(&container[key]))).into())
}

/// A label selector as kubectl writes it: `app=a,tier in (x,y),!old`.
pub(super) fn selector(selector: &Value) -> Value {
    let mut parts: Vec<(String, String)> = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        parts.push((key.clone(), format!("{key}={}", text(value))));
    }
    for expression in list(&selector["matchExpressions"]) {
        let key = text(&expression["key"]);
        let mut values: Vec<_> = list(&expression["values"]).iter().map(text).collect();
        values.sort_unstable();
        let values = values.join(",");
        let part = match text(&expression["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        parts.push((key.to_owned(), part));
    }
    if parts.is_empty() {
        return if selector.is_object() { "".into() } else { "<none>".into() };
    }
    parts.sort();
    joined(parts.iter().map(|(_, part)| part.as_str())).into()
}

fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]);
    vec![
        name(object),
        format!("{}/{}", number(&status["readyReplicas"]), number(&spec["replicas"])).into(),
        number(&status["updatedReplicas"]).into(),
        number(&status["availableReplicas"]).into(),
        created(object, now),
        names,
        images,
        selector(&spec["selector"]),
    ]
}

fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]);
    vec![
        name(object),
        number(&spec["replicas"]).into(),
        number(&status["replicas"]).into(),
        number(&status["readyReplicas"]).into(),
        created(object, now),
        names,
        images,
        selector(&spec["selector"]),
    ]
}

fn service(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    let ports = list(&spec["ports"]).iter().map(|port| {
        let protocol = text(&port["protocol"]);
        match number(&port["nodePort"]) {
            0 => format!("{}/{protocol}", number(&port["port"])),
            node => format!("{}:{node}/{protocol}", number(&port["port"])),
        }
    });
    let ports: Vec<_> = ports.collect();
    let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
    vec![
        name(object),
        text(&spec["type"]).into(),
        text_or_none(&spec["clusterIPs"][0]),
        external_ips(object).into(),
        ports.into(),
        created(object, now),
        entries_text(&spec["selector"]).into(),
    ]
}

fn external_ips(object: &Value) -> String {
    let spec = &object["spec"];
    let own: Vec<_> = list(&spec["externalIPs"]).iter().map(text).collect();
    match text(&spec["type"]) {
        "ExternalName" => text(&spec["externalName"]).to_owned(),
        "LoadBalancer" => {
            let ingress = list(&object["status"]["loadBalancer"]["ingress"]).iter();
            let address = |ingress: &Value| match text(&ingress["ip"]) {
                "" => text(&ingress["hostname"]).to_owned(),
                ip => ip.to_owned(),
            };
            let mut addresses: Vec<String> =
                ingress.map(address).filter(|address| !address.is_empty()).collect();
            addresses.sort_unstable();
            addresses.dedup();
            addresses.extend(own.into_iter().map(str::to_owned));
            if addresses.is_empty() { "<pending>".to_owned() } else { addresses.join(",") }
        }
        "ClusterIP" | "NodePort" if own.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => own.join(","),
        _ => "<unknown>".to_owned(),
    }
}

fn event(object: &Value, now: Timestamp) -> Vec<Value> {
    let time = |value: &Value| if value.is_null() { None } else { Some(age_of(value, now)) };
    let unknown = || Value::from("<unknown>");
    let first =
        time(&object["firstTimestamp"]).or_else(|| time(&object["eventTime"])).unwrap_or_else(unknown);
    let mut last = time(&object["lastTimestamp"]).unwrap_or_else(|| first.clone());
    let mut count = number(&object["count"]).max(1);
    if object["series"].is_object() {
        last = time(&object["series"]["lastObservedTime"]).unwrap_or_else(unknown);
        count = number(&object["series"]["count"]);
    }
    let involved = &object["involvedObject"];
    let mut target = text(&involved["kind"]).to_lowercase();
    if !text(&involved["name"]).is_empty() {
        let _ = write!(target, "/{}", text(&involved["name"]));
    }
    let either =
        |a: &Value, b: &Value| if text(a).is_empty() { text(b).to_owned() } else { text(a).to_owned() };
    let mut source = either(&object["source"]["component"], &object["reportingComponent"]);
    let instance = either(&object["source"]["host"], &object["reportingInstance"]);
    if !instance.is_empty() {
        let _ = write!(source, ", {instance}");
    }
    vec![
        last,
        text(&object["type"]).into(),
        text(&object["reason"]).into(),
        target.into(),
        text(&involved["fieldPath"]).into(),
        source.into(),
        text(&object["message"]).trim().into(),
        first,
        count.into(),
        name(object),
    ]
}

fn pod(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let state = PodState::of(object);
    let restarts = match state.last_restart {
        Some(time) if state.restarts > 0 => format!("{} ({} ago)", state.restarts, age(time, now)),
        _ => state.restarts.to_string(),
    };
    let gates = list(&spec["readinessGates"]);
    let open = gates.iter().filter(|gate| condition(status, text(&gate["conditionType"]), "True")).count();
    let gates = if gates.is_empty() { "<none>".to_owned() } else { format!("{open}/{}", gates.len()) };
    vec![
        name(object),
        format!("{}/{}", state.ready, state.containers).into(),
        state.reason.into(),
        restarts.into(),
        created(object, now),
        text_or_none(&status["podIPs"][0]["ip"]),
        text_or_none(&spec["nodeName"]),
        text_or_none(&status["nominatedNodeName"]),
        gates.into(),
    ]
}

pub(super) fn condition(status: &Value, kind: &str, wanted: &str) -> bool {
    let mut conditions = list(&status["conditions"]).iter();
    conditions.any(|condition| condition["type"] == kind && condition["status"] == wanted)
}

/// What is shown of a pod's containers.
struct PodState {
    reason: String,
    ready: usize,
    containers: usize,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

fn last_termination(container: &Value) -> Option<Timestamp> {
    text(&container["lastState"]["terminated"]["finishedAt"]).parse().ok()
}

/// Why a container has ended.
fn termination(terminated: &Value) -> String {
    match (text(&terminated["reason"]), number(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

impl PodState {
    fn of(pod: &Value) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let init = list(&spec["initContainers"]);
        let sidecar = |name: &Value| {
            init.iter().any(|container| container["name"] == *name && container["restartPolicy"] == "Always")
        };
        let sidecars = init.iter().filter(|container| container["restartPolicy"] == "Always").count();
        let mut reason = text(&status["phase"]);
        if !text(&status["reason"]).is_empty() {
            reason = text(&status["reason"]);
        }
        let gated = |condition: &Value| {
            condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated"
        };
        if list(&status["conditions"]).iter().any(gated) {
            reason = "SchedulingGated";
        }
        let mut state = Self {
            reason: reason.to_owned(),
            ready: 0,
            containers: list(&spec["containers"]).len() + sidecars,
            restarts: 0,
            last_restart: None,
        };
        let (initializing, of_sidecars) = state.look_at_init_containers(status, init.len(), sidecar);
        if !initializing || condition(status, "Initialized", "True") {
            (state.restarts, state.last_restart) = of_sidecars;
            state.look_at_containers(status);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            if status["reason"] == "NodeLost" {
                state.reason = "Unknown".to_owned();
            } else if !matches!(text(&status["phase"]), "Succeeded" | "Failed") {
                state.reason = "Terminating".to_owned();
            }
        }
        state
    }

    /// Whether init containers still run, and how often those that never end were restarted.
    fn look_at_init_containers(
        &mut self,
        status: &Value,
        count: usize,
        sidecar: impl Fn(&Value) -> bool,
    ) -> (bool, (i64, Option<Timestamp>)) {
        let mut of_sidecars = (0, None);
        for (i, container) in list(&status["initContainerStatuses"]).iter().enumerate() {
            let is_sidecar = sidecar(&container["name"]);
            self.restarts += number(&container["restartCount"]);
            self.last_restart = self.last_restart.max(last_termination(container));
            if is_sidecar {
                of_sidecars.0 += number(&container["restartCount"]);
                of_sidecars.1 = of_sidecars.1.max(last_termination(container));
            }
            let terminated = &container["state"]["terminated"];
            let waiting = text(&container["state"]["waiting"]["reason"]);
            if terminated.is_object() && number(&terminated["exitCode"]) == 0 {
                continue;
            }
            if is_sidecar && container["started"] == true {
                self.ready += usize::from(container["ready"] == true);
                continue;
            }
            self.reason = if terminated.is_object() {
                format!("Init:{}", termination(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{i}/{count}")
            };
            return (true, of_sidecars);
        }
        (false, of_sidecars)
    }

    fn look_at_containers(&mut self, status: &Value) {
        let (mut running, mut error) = (false, String::new());
        for container in list(&status["containerStatuses"]).iter().rev() {
            self.restarts += number(&container["restartCount"]);
            self.last_restart = self.last_restart.max(last_termination(container));
            let state = &container["state"];
            let waiting = text(&state["waiting"]["reason"]);
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if state["terminated"].is_object() {
                self.reason = termination(&state["terminated"]);
                if number(&state["terminated"]["exitCode"]) != 0 {
                    error.clone_from(&self.reason);
                }
            } else if container["ready"] == true && state["running"].is_object() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && condition(status, "Ready", "True") {
                self.reason = "Running".to_owned();
            } else if !error.is_empty() {
                self.reason = error;
            } else if running {
                self.reason = "NotReady".to_owned();
            }
        }
    }
}
