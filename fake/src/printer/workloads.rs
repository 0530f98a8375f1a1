//! The columns of workloads, and of what stands around them: ingresses, policies, claims and bindings.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    age::{age, age_of},
    builtin::{
        Cells, Column, column, condition, containers, created, entries_text, integer, list, name, number,
        selector, text, text_or_none, wide,
    },
};

const DAEMON_SETS: &[Column] = &[
    column("Name"),
    integer("Desired"),
    integer("Current"),
    integer("Ready"),
    integer("Up-to-date"),
    integer("Available"),
    column("Node Selector"),
    column("Age"),
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const STATEFUL_SETS: &[Column] =
    &[column("Name"), column("Ready"), column("Age"), wide("Containers"), wide("Images")];
const JOBS: &[Column] = &[
    column("Name"),
    column("Status"),
    column("Completions"),
    column("Duration"),
    column("Age"),
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const CRON_JOBS: &[Column] = &[
    column("Name"),
    column("Schedule"),
    column("Timezone"),
    Column { name: "Suspend", kind: "boolean", priority: 0 },
    integer("Active"),
    column("Last Schedule"),
    column("Age"),
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const INGRESSES: &[Column] =
    &[column("Name"), column("Class"), column("Hosts"), column("Address"), column("Ports"), column("Age")];
const CLAIMS: &[Column] = &[
    column("Name"),
    column("Status"),
    column("Volume"),
    column("Capacity"),
    column("Access Modes"),
    column("StorageClass"),
    column("VolumeAttributesClass"),
    column("Age"),
    wide("VolumeMode"),
];
const BUDGETS: &[Column] = &[
    column("Name"),
    column("Min Available"),
    column("Max Unavailable"),
    integer("Allowed Disruptions"),
    column("Age"),
];
const BINDINGS: &[Column] =
    &[column("Name"), column("Role"), column("Age"), wide("Users"), wide("Groups"), wide("ServiceAccounts")];

/// The table of a kind, if it is one of these.
pub(super) fn table(group: &str, kind: &str) -> Option<(&'static [Column], Cells)> {
    Some(match (group, kind) {
        ("apps", "DaemonSet") => (DAEMON_SETS, daemon_set),
        ("apps", "StatefulSet") => (STATEFUL_SETS, stateful_set),
        ("batch", "Job") => (JOBS, job),
        ("batch", "CronJob") => (CRON_JOBS, cron_job),
        ("networking.k8s.io", "Ingress") => (INGRESSES, ingress),
        ("networking.k8s.io", "NetworkPolicy") => {
            (const { &[column("Name"), column("Pod-Selector"), column("Age")] }, |object, now| {
                vec![name(object), selector(&object["spec"]["podSelector"]), created(object, now)]
            })
        }
        ("", "PersistentVolumeClaim") => (CLAIMS, claim),
        ("policy", "PodDisruptionBudget") => (BUDGETS, budget),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => (BINDINGS, binding),
        _ => return None,
    })
}

fn daemon_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]);
    let mut cells = vec![name(object)];
    for field in [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    ] {
        cells.push(number(&status[field]).into());
    }
    cells.push(entries_text(&spec["template"]["spec"]["nodeSelector"]).into());
    cells.extend([created(object, now), names, images, selector(&spec["selector"])]);
    cells
}

fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]);
    let ready = format!("{}/{}", number(&status["readyReplicas"]), number(&spec["replicas"]));
    vec![name(object), ready.into(), created(object, now), names, images]
}

fn job(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]);
    let succeeded = number(&status["succeeded"]);
    let completions = match (spec["completions"].as_i64(), number(&spec["parallelism"])) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    };
    let time = |field: &str| text(&status[field]).parse::<Timestamp>().ok();
    let duration = time("startTime").map(|start| age(start, time("completionTime").unwrap_or(now)));
    let reached = |kind: &&str| condition(status, kind, "True");
    let state = ["Complete", "Failed"].into_iter().find(reached).unwrap_or_else(|| {
        if !object["metadata"]["deletionTimestamp"].is_null() {
            return "Terminating";
        }
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(reached).unwrap_or("Running")
    });
    vec![
        name(object),
        state.into(),
        completions.into(),
        duration.unwrap_or_default().into(),
        created(object, now),
        names,
        images,
        selector(&spec["selector"]),
    ]
}

fn cron_job(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let job = &spec["jobTemplate"]["spec"];
    let [names, images] = containers(&job["template"]);
    let last = &status["lastScheduleTime"];
    let suspended = match spec["suspend"].as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    vec![
        name(object),
        text(&spec["schedule"]).into(),
        text_or_none(&spec["timeZone"]),
        suspended.into(),
        list(&status["active"]).len().into(),
        if last.is_null() { "<none>".into() } else { age_of(last, now) },
        created(object, now),
        names,
        images,
        selector(&job["selector"]),
    ]
}

fn ingress(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    let rules = list(&spec["rules"]);
    let hosts: Vec<_> =
        rules.iter().map(|rule| text(&rule["host"])).filter(|host| !host.is_empty()).collect();
    let hosts = match hosts.as_slice() {
        [] => "*".to_owned(),
        [first, second, third, _, ..] => format!("{first},{second},{third} + {} more...", rules.len() - 3),
        hosts => hosts.join(","),
    };
    let address = |ingress: &Value| match text(&ingress["ip"]) {
        "" => text(&ingress["hostname"]).to_owned(),
        ip => ip.to_owned(),
    };
    let addresses = list(&object["status"]["loadBalancer"]["ingress"]).iter().map(address);
    let mut addresses: Vec<String> = addresses.filter(|address| !address.is_empty()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let ports = if list(&spec["tls"]).is_empty() { "80" } else { "80, 443" };
    vec![
        name(object),
        text_or_none(&spec["ingressClassName"]),
        hosts.into(),
        addresses.join(",").into(),
        ports.into(),
        created(object, now),
    ]
}

fn claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let deleting = !object["metadata"]["deletionTimestamp"].is_null();
    let or_unset = |value: &Value| Value::from(value.as_str().unwrap_or("<unset>"));
    let bound = !text(&spec["volumeName"]).is_empty();
    let short = |mode: &Value| match text(mode) {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    };
    let mut modes: Vec<_> = list(&status["accessModes"]).iter().map(short).collect();
    modes.dedup();
    let (capacity, modes) =
        if bound { (text(&status["capacity"]["storage"]), modes.join(",")) } else { ("", String::new()) };
    vec![
        name(object),
        if deleting { "Terminating".into() } else { text(&status["phase"]).into() },
        text(&spec["volumeName"]).into(),
        capacity.into(),
        modes.into(),
        text(&spec["storageClassName"]).into(),
        or_unset(&spec["volumeAttributesClassName"]),
        created(object, now),
        or_unset(&spec["volumeMode"]),
    ]
}

fn budget(object: &Value, now: Timestamp) -> Vec<Value> {
    let amount = |value: &Value| match value {
        Value::Null => Value::from("N/A"),
        Value::Number(number) => number.to_string().into(),
        other => other.clone(),
    };
    let spec = &object["spec"];
    vec![
        name(object),
        amount(&spec["minAvailable"]),
        amount(&spec["maxUnavailable"]),
        number(&object["status"]["disruptionsAllowed"]).into(),
        created(object, now),
    ]
}

fn binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let subjects = |kind: &str| {
        let of_kind = list(&object["subjects"]).iter().filter(|subject| subject["kind"] == kind);
        let names = of_kind.map(|subject| match (kind, text(&subject["namespace"])) {
            ("ServiceAccount", namespace) if !namespace.is_empty() => {
                format!("{namespace}/{}", text(&subject["name"]))
            }
            ("ServiceAccount", _) => format!("/{}", text(&subject["name"])),
            _ => text(&subject["name"]).to_owned(),
        });
        Value::from(names.collect::<Vec<_>>().join(", "))
    };
    let role = &object["roleRef"];
    vec![
        name(object),
        format!("{}/{}", text(&role["kind"]), text(&role["name"])).into(),
        created(object, now),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}
