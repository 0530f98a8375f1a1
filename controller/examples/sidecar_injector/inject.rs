//! Decides what is injected into a Pod.
//!
//! # Guarantees
//! - **A Pod can say no, and can insist.** With the annotation [`INJECT`] `"false"` it stays as it is. With `"true"` it
//!   gets the sidecar or is refused, with the reason. Without it, a Pod that cannot get the sidecar is created
//!   without it, and the one who creates it is warned.
//! - **Idempotent.** A Pod that was injected is marked with [`INJECTED`], and stays as it is. The mark alone, for example
//!   in a copied template, is not enough: the containers must be there.
//! - **Nothing of the Pod is overwritten.** A container or a volume of the template whose name the Pod has already is
//!   a reason to inject nothing.
//! - **A template with a mistake is not used.** A misspelt field, at any depth, and a container without an image would make
//!   the API server refuse every Pod.

use genclient_runtime::k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, Volume};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The annotation with which a Pod asks for the sidecar, `"true"`, or against it, `"false"`.
pub const INJECT: &str = "sidecar-injector.samplecrd.k8s.io/inject";
/// The annotation of a Pod that was injected: the version of the template.
pub const INJECTED: &str = "sidecar-injector.samplecrd.k8s.io/injected";
/// The key of the template in the ConfigMap.
pub const CONFIG: &str = "config";

/// What is merged into Pods.
#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The containers to add.
    pub containers: Vec<Container>,
    /// The volumes to add.
    #[serde(default)]
    pub volumes: Vec<Volume>,
}

impl Template {
    /// Reads the template of a ConfigMap.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it.
    pub fn read(config_map: &ConfigMap) -> Result<Self, String> {
        let text = config_map.data.as_ref().and_then(|data| data.get(CONFIG));
        let text = text.ok_or_else(|| format!("the ConfigMap has no key `{CONFIG}`"))?;
        let wrong = |error: String| format!("`{CONFIG}`: {error}");
        let source: Value = serde_saphyr::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let template: Self = serde_saphyr::from_str(text).map_err(|error| wrong(error.to_string()))?;
        // The types of Kubernetes read what they know, and leave out the rest.
        let read = serde_json::to_value(&template).map_err(|error| wrong(error.to_string()))?;
        if let Some(field) = unknown_field(&source, &read) {
            return Err(wrong(format!("unknown field `{field}`")));
        }
        let without_image = |own: &&Container| own.image.as_deref().is_none_or(str::is_empty);
        match template.containers.iter().find(without_image) {
            Some(container) => Err(wrong(format!("the container `{}` has no image", container.name))),
            None if template.containers.is_empty() => Err(format!("`{CONFIG}` has no containers")),
            None => Ok(template),
        }
    }
}

/// Returns the first field of a source that is missing in what was read from it.
fn unknown_field(source: &Value, read: &Value) -> Option<String> {
    match (source, read) {
        (Value::Object(source), Value::Object(read)) => source.iter().find_map(|(name, value)| {
            match read.get(name) {
                Some(read) => unknown_field(value, read).map(|field| format!("{name}.{field}")),
                // What is null or empty may be left out.
                None if value.is_null() || *value == json!([]) || *value == json!({}) => None,
                None => Some(name.clone()),
            }
        }),
        (Value::Array(source), Value::Array(read)) => {
            source.iter().zip(read).find_map(|(source, read)| unknown_field(source, read))
        }
        _ => None,
    }
}

/// What happens to a Pod.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// It stays as it is.
    Unchanged,
    /// It stays as it is, although it should have the sidecar, for this reason.
    Skipped(String),
    /// It becomes this one.
    Injected(Box<Pod>),
    /// It is refused, for this reason.
    Refused(String),
}

/// Decides about a Pod. `template` is the template and its version, or why there is none.
pub fn decide(pod: &Pod, template: Result<(Template, String), String>, by_default: bool) -> Verdict {
    let annotation = |name: &str| pod.metadata.annotations.as_ref()?.get(name).map(String::as_str);
    let has = |own: &Container| {
        pod.spec.iter().flat_map(|spec| &spec.containers).any(|container| container.name == own.name)
    };
    let is_there = template.as_ref().map_or(true, |(template, _)| template.containers.iter().all(has));
    let wanted = match annotation(INJECT) {
        _ if annotation(INJECTED).is_some() && is_there => return Verdict::Unchanged,
        Some("true") => true,
        Some("false") => return Verdict::Unchanged,
        Some(other) => {
            return Verdict::Refused(format!(
                "the annotation {INJECT} is {other:?}; it must be \"true\" or \"false\""
            ));
        }
        None if by_default => false,
        None => return Verdict::Unchanged,
    };
    match template.and_then(|(template, version)| merge(pod, template, version)) {
        Ok(pod) => Verdict::Injected(Box::new(pod)),
        Err(reason) if wanted => Verdict::Refused(format!("cannot inject the sidecar: {reason}")),
        Err(reason) => Verdict::Skipped(format!("the sidecar is not injected: {reason}")),
    }
}

/// Adds the template to a Pod, and marks it.
fn merge(pod: &Pod, template: Template, version: String) -> Result<Pod, String> {
    let mut pod = pod.clone();
    let spec = pod.spec.get_or_insert_default();
    let all = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let mut names: Vec<_> = all.map(|container| container.name.clone()).collect();
    for container in template.containers {
        if names.contains(&container.name) {
            return Err(format!("the Pod has a container {} of its own", container.name));
        }
        names.push(container.name.clone());
        spec.containers.push(container);
    }
    for volume in template.volumes {
        if spec.volumes.iter().flatten().any(|own| own.name == volume.name) {
            return Err(format!("the Pod has a volume {} of its own", volume.name));
        }
        spec.volumes.get_or_insert_default().push(volume);
    }
    pod.metadata.annotations.get_or_insert_default().insert(INJECTED.to_owned(), version);
    Ok(pod)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "{containers: [{name: envoy, image: envoy:1}], volumes: [{name: conf}]}";

    fn template(text: &str) -> Result<(Template, String), String> {
        let config_map = json!({ "metadata": {}, "data": { "config": text } });
        Template::read(&serde_json::from_value(config_map).unwrap())
            .map(|template| (template, "7".to_owned()))
    }

    fn pod(annotations: Value, containers: &[&str], volumes: &[&str]) -> Pod {
        let named = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>();
        let spec = json!({ "containers": named(containers), "volumes": named(volumes) });
        serde_json::from_value(json!({ "metadata": { "annotations": annotations }, "spec": spec })).unwrap()
    }

    fn injected(pod: &Pod) -> Pod {
        match decide(pod, template(TEMPLATE), true) {
            Verdict::Injected(pod) => *pod,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn containers_and_volumes_are_added_after_the_pods_own() {
        let pod = injected(&pod(json!({ "a": "b" }), &["main"], &["data"]));
        let spec = pod.spec.unwrap();
        let names: Vec<_> = spec.containers.iter().map(|container| &*container.name).collect();
        assert_eq!(names, ["main", "envoy"]);
        let volumes: Vec<_> = spec.volumes.iter().flatten().map(|volume| &*volume.name).collect();
        assert_eq!(volumes, ["data", "conf"]);
        let annotations = pod.metadata.annotations.unwrap();
        assert_eq!((&*annotations["a"], &*annotations[INJECTED]), ("b", "7"));
    }

    #[test]
    fn a_pod_that_was_injected_stays_as_it_is() {
        let once = injected(&pod(json!({ INJECT: "true" }), &["main"], &[]));
        assert_eq!(decide(&once, template(TEMPLATE), true), Verdict::Unchanged);
    }

    #[test]
    fn the_mark_alone_does_not_keep_the_sidecar_away() {
        let copied = pod(json!({ INJECT: "true", INJECTED: "6" }), &["main"], &[]);
        assert_eq!(injected(&copied).spec.unwrap().containers.len(), 2);
    }

    #[test]
    fn a_template_with_a_mistake_is_not_used() {
        for (text, why) in [
            ("{containers: [{name: envoy, imge: envoy}]}", "unknown field `containers.imge`"),
            (
                "{containers: [{name: a, image: a, ports: [{prt: 1, containerPort: 2}]}]}",
                "`containers.ports.prt`",
            ),
            ("{containers: [{name: envoy}]}", "the container `envoy` has no image"),
            ("{containers: [{name: envoy, image: ''}]}", "the container `envoy` has no image"),
            ("{containers: []}", "no containers"),
            ("{containers: [{name: a, image: a}], volume: []}", "volume"),
        ] {
            let found = template(text).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
        let whole = "{containers: [{name: a, image: a, args: [], resources: {limits: {cpu: '1', memory: 1Gi}}, \
                     livenessProbe: {httpGet: {port: http}}}], volumes: [{name: v, emptyDir: {}}]}";
        assert!(template(whole).is_ok(), "{:?}", template(whole));
    }

    #[test]
    fn a_pod_can_say_no_and_can_insist() {
        let plain = pod(json!({}), &["main"], &[]);
        assert_eq!(decide(&plain, template(TEMPLATE), false), Verdict::Unchanged);
        let no = pod(json!({ INJECT: "false" }), &["main"], &[]);
        assert_eq!(decide(&no, template(TEMPLATE), true), Verdict::Unchanged);
        let yes = pod(json!({ INJECT: "true" }), &["main"], &[]);
        assert!(matches!(decide(&yes, template(TEMPLATE), false), Verdict::Injected(_)));
        let maybe = pod(json!({ INJECT: "maybe" }), &["main"], &[]);
        assert!(
            matches!(decide(&maybe, template(TEMPLATE), true), Verdict::Refused(why) if why.contains("maybe"))
        );
    }

    #[test]
    fn what_cannot_be_injected_is_refused_to_a_pod_that_insists_and_skipped_for_others() {
        let cases = [
            (pod(json!({}), &["envoy"], &[]), TEMPLATE, "a container envoy of its own"),
            (pod(json!({}), &["main"], &["conf"]), TEMPLATE, "a volume conf of its own"),
            (pod(json!({}), &["main"], &[]), "{containers: []}", "no containers"),
            (pod(json!({}), &["main"], &[]), "{containers: [{name: a}], volume: []}", "volume"),
            (pod(json!({}), &["main"], &[]), "containers: 7", "config"),
        ];
        for (mut pod, text, said) in cases {
            let verdict = decide(&pod, template(text), true);
            assert!(matches!(&verdict, Verdict::Skipped(why) if why.contains(said)), "{verdict:?}");
            pod.metadata.annotations.get_or_insert_default().insert(INJECT.to_owned(), "true".to_owned());
            let verdict = decide(&pod, template(text), true);
            assert!(matches!(&verdict, Verdict::Refused(why) if why.contains(said)), "{verdict:?}");
        }
    }
}
