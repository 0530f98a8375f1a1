//! Every attribute, with what `genclient explain` says of it.

/// An attribute of `#[genclient(…)]`.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// The word.
    pub name: &'static str,
    /// How it is written.
    pub form: &'static str,
    /// The tag of Go's generators that it stands for, or empty.
    pub go: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// More than one sentence, or empty.
    pub details: &'static str,
    /// What stands between the parentheses of `#[genclient(…)]` in an example.
    pub example: &'static str,
    /// Whether it may stand more than once.
    pub repeatable: bool,
}

/// The attribute of this name.
pub(super) fn lookup(name: &str) -> Option<&'static Attribute> {
    ATTRIBUTES.iter().find(|attribute| attribute.name == name)
}

const fn attribute(
    name: &'static str,
    form: &'static str,
    go: &'static str,
    summary: &'static str,
    details: &'static str,
    example: &'static str,
) -> Attribute {
    Attribute { name, form, go, summary, details, example, repeatable: false }
}

const fn repeatable(attribute: Attribute) -> Attribute {
    Attribute { repeatable: true, ..attribute }
}

/// Every attribute of `#[genclient(…)]`: first what concerns the client, then what concerns the CRD.
pub const ATTRIBUTES: &[Attribute] = &[
    attribute(
        "cluster_scoped",
        "cluster_scoped",
        "+genclient:nonNamespaced",
        "The kind has no namespaces.",
        "The clientset then has `networks()` instead of `networks(namespace)`, and the CRD the scope `Cluster`.",
        "cluster_scoped",
    ),
    attribute(
        "no_status",
        "no_status",
        "+genclient:noStatus",
        "The kind has no status subresource.",
        "Without it, a struct with a `status` field has `update_status` and `apply_status`, and the CRD has the \
         status subresource.",
        "no_status",
    ),
    attribute(
        "no_verbs",
        "no_verbs",
        "+genclient:noVerbs",
        "The client has no verbs, only the methods that `method(…)` adds.",
        "",
        "no_verbs",
    ),
    attribute(
        "readonly",
        "readonly",
        "+genclient:readonly",
        "The client only reads: `get`, `list` and `watch`.",
        "It can be combined with `skip_verbs`.",
        "readonly",
    ),
    attribute(
        "only_verbs",
        "only_verbs(VERB, …)",
        "+genclient:onlyVerbs",
        "The client has these verbs and no others.",
        "The verbs are create, update, update_status, delete, delete_collection, get, list, watch, patch, apply and \
         apply_status. A lister exists where `get` and `list` do, an informer where `list` and `watch` do.",
        "only_verbs(get, list)",
    ),
    attribute(
        "skip_verbs",
        "skip_verbs(VERB, …)",
        "+genclient:skipVerbs",
        "The client has all verbs but these.",
        "",
        "skip_verbs(watch)",
    ),
    repeatable(attribute(
        "method",
        "method(name = \"…\", verb = VERB, subresource = \"…\", input = TYPE, result = TYPE)",
        "+genclient:method",
        "The client has an extra method.",
        "`verb` is create, update, get, list, patch or apply. Without `subresource` it acts on the object itself. \
         `input` (for create and update) and `result` are types of the same crate, or any path written as a \
         string; without them it is the annotated type. They need serde only, no ObjectMeta.",
        "method(name = \"update_scale\", verb = update, subresource = \"scale\", input = Scale, result = Scale)",
    )),
    attribute(
        "plural",
        "plural = \"…\"",
        "+resourceName, --plural-exceptions",
        "The plural, where the derived one is wrong.",
        "It is honoured everywhere: URLs, errors, the clientset's and the factory's accessors, metrics and the CRD.",
        "plural = \"data\"",
    ),
    attribute(
        "path",
        "path = \"…\"",
        "",
        "The path under which other crates reach the type.",
        "It is found by itself where the modules on the way are public or a `pub use` of the crate leads to the type.",
        "path = \"samplecrd_apis::v1::Network\"",
    ),
    attribute(
        "no_crd",
        "no_crd",
        "",
        "No CRD is written: something else serves the kind, such as an aggregated API server.",
        "",
        "no_crd",
    ),
    repeatable(attribute(
        "shortname",
        "shortname = \"…\"",
        "+kubebuilder:resource:shortName",
        "A short name for kubectl.",
        "",
        "shortname = \"net\"",
    )),
    attribute(
        "singular",
        "singular = \"…\"",
        "+kubebuilder:resource:singular",
        "The singular name, where the kind in lower case is not it.",
        "",
        "singular = \"net\"",
    ),
    repeatable(attribute(
        "category",
        "category = \"…\"",
        "+kubebuilder:resource:categories",
        "A group of kinds that kubectl lists together, as in `kubectl get all`.",
        "",
        "category = \"all\"",
    )),
    repeatable(attribute(
        "printcolumn",
        "printcolumn(name = \"…\", type_ = \"…\", json_path = \"…\", description = \"…\", format = \"…\", priority = 0)",
        "+kubebuilder:printcolumn",
        "A column that `kubectl get` shows.",
        "`type_` is string, integer, number, boolean or date. A priority above 0 shows it with `-o wide` only.",
        "printcolumn(name = \"CIDR\", type_ = \"string\", json_path = \".spec.cidr\")",
    )),
    repeatable(attribute(
        "selectable",
        "selectable = \"…\"",
        "+kubebuilder:selectablefield",
        "A field that a field selector may name.",
        "",
        "selectable = \".spec.cidr\"",
    )),
    attribute(
        "scale",
        "scale(spec_replicas_path = \"…\", status_replicas_path = \"…\", label_selector_path = \"…\")",
        "+kubebuilder:subresource:scale",
        "The CRD has the scale subresource.",
        "",
        "scale(spec_replicas_path = \".spec.replicas\", status_replicas_path = \".status.replicas\")",
    ),
    repeatable(attribute(
        "annotation",
        "annotation(\"KEY\", \"VALUE\")",
        "+kubebuilder:metadata:annotations",
        "An annotation of the CRD.",
        "The API server refuses a CRD in a group under k8s.io or kubernetes.io without the annotation \
         `api-approved.kubernetes.io`.",
        "annotation(\"api-approved.kubernetes.io\", \"unapproved, sample\")",
    )),
    repeatable(attribute(
        "label",
        "label(\"KEY\", \"VALUE\")",
        "+kubebuilder:metadata:labels",
        "A label of the CRD.",
        "",
        "label(\"app.kubernetes.io/part-of\", \"samplecrd\")",
    )),
    attribute(
        "storage",
        "storage, storage = false",
        "+kubebuilder:storageversion",
        "Of several versions of a kind, the one that is stored.",
        "Exactly one version is stored; a kind with one version needs no mark.",
        "storage",
    ),
    attribute(
        "served",
        "served, served = false",
        "+kubebuilder:unservedversion",
        "Whether the API server serves this version.",
        "",
        "served = false",
    ),
    attribute(
        "deprecated",
        "deprecated, deprecated = \"WARNING\"",
        "+kubebuilder:deprecatedversion",
        "The API server warns whoever uses this version.",
        "",
        "deprecated = \"use v2\"",
    ),
    repeatable(attribute(
        "validation",
        "validation = RULE",
        "+kubebuilder:validation:XValidation",
        "A CEL rule over the whole object: a text, or an expression that gives a `kube::core::Rule`.",
        "Rules for a spec stand on the spec, through `kube::KubeSchema`.",
        "validation = \"self.metadata.name.size() <= 20\"",
    )),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attr::resource_attrs, diag::Ctxt};

    #[test]
    fn every_attribute_has_an_example_that_is_accepted() {
        for attribute in ATTRIBUTES {
            let example: syn::ItemStruct = syn::parse_str(&format!(
                "#[genclient({})] struct Network {{ status: Status }}",
                attribute.example
            ))
            .unwrap();
            let cx = Ctxt::new();
            resource_attrs(&cx, &example.attrs, true);
            cx.check().unwrap_or_else(|errors| panic!("{}: {errors:?}", attribute.name));
            assert!(attribute.example.starts_with(attribute.name));
        }
    }
}
