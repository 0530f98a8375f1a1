//! Every attribute, with what `genclient explain` says of it.

/// An attribute of `#[genclient(…)]`.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    pub(super) word: Word,
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

/// The attributes, for the reader to match on: one that is not read does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    ClusterScoped,
    NoStatus,
    NoVerbs,
    Readonly,
    OnlyVerbs,
    SkipVerbs,
    Method,
    Plural,
    Path,
    Crate,
    NoCrd,
    Shortname,
    Singular,
    Category,
    Printcolumn,
    Selectable,
    Scale,
    Annotation,
    Label,
    Storage,
    Served,
    Deprecated,
    Validation,
}

/// The attribute of this name.
pub(super) fn lookup(name: &str) -> Option<&'static Attribute> {
    ATTRIBUTES.iter().find(|attribute| attribute.name == name)
}

/// Every attribute of `#[genclient(…)]`: first what concerns the client, then what concerns the CRD.
pub const ATTRIBUTES: &[Attribute] = &[
    Attribute {
        word: Word::ClusterScoped,
        name: "cluster_scoped",
        form: "cluster_scoped",
        go: "+genclient:nonNamespaced",
        summary: "The kind has no namespaces.",
        details: "The clientset then has `networks()` instead of `networks(namespace)`, and the CRD the scope `Cluster`.",
        example: "cluster_scoped",
        repeatable: false,
    },
    Attribute {
        word: Word::NoStatus,
        name: "no_status",
        form: "no_status",
        go: "+genclient:noStatus",
        summary: "The kind has no status subresource.",
        details: "Without it, a struct with a `status` field has `update_status` and `apply_status`, and the CRD has the \
         status subresource.",
        example: "no_status",
        repeatable: false,
    },
    Attribute {
        word: Word::NoVerbs,
        name: "no_verbs",
        form: "no_verbs",
        go: "+genclient:noVerbs",
        summary: "The client has no verbs, only the methods that `method(…)` adds.",
        details: "",
        example: "no_verbs",
        repeatable: false,
    },
    Attribute {
        word: Word::Readonly,
        name: "readonly",
        form: "readonly",
        go: "+genclient:readonly",
        summary: "The client only reads: `get`, `list` and `watch`.",
        details: "It can be combined with `skip_verbs`.",
        example: "readonly",
        repeatable: false,
    },
    Attribute {
        word: Word::OnlyVerbs,
        name: "only_verbs",
        form: "only_verbs(VERB, …)",
        go: "+genclient:onlyVerbs",
        summary: "The client has these verbs and no others.",
        details: "The verbs are create, update, update_status, delete, delete_collection, get, list, watch, patch, apply and \
         apply_status. A lister exists where `get` and `list` do, an informer where `list` and `watch` do.",
        example: "only_verbs(get, list)",
        repeatable: false,
    },
    Attribute {
        word: Word::SkipVerbs,
        name: "skip_verbs",
        form: "skip_verbs(VERB, …)",
        go: "+genclient:skipVerbs",
        summary: "The client has all verbs but these.",
        details: "",
        example: "skip_verbs(watch)",
        repeatable: false,
    },
    Attribute {
        word: Word::Method,
        name: "method",
        form: "method(name = \"…\", verb = VERB, subresource = \"…\", input = TYPE, result = TYPE)",
        go: "+genclient:method",
        summary: "The client has an extra method.",
        details: "`verb` is create, update, get, list, patch or apply. Without `subresource` it acts on the object itself. \
         `input` (for create and update) and `result` are types of the same crate, or any path written as a \
         string; without them it is the annotated type. They need serde only, no ObjectMeta. A type of another \
         crate than kube or k8s-openapi makes that crate a dependency of the generated package: add it there.",
        example: "method(name = \"update_scale\", verb = update, subresource = \"scale\", input = Scale, result = Scale)",
        repeatable: true,
    },
    Attribute {
        word: Word::Plural,
        name: "plural",
        form: "plural = \"…\"",
        go: "+resourceName, --plural-exceptions",
        summary: "The plural, where the derived one is wrong.",
        details: "It is honoured everywhere: URLs, errors, the clientset's and the factory's accessors, metrics and the CRD.",
        example: "plural = \"data\"",
        repeatable: false,
    },
    Attribute {
        word: Word::Path,
        name: "path",
        form: "path = \"…\"",
        go: "",
        summary: "The path under which other crates reach the type.",
        details: "It is found by itself where the modules on the way are public or a `pub use` of the crate leads to the type.",
        example: "path = \"samplecrd_apis::v1::Network\"",
        repeatable: false,
    },
    Attribute {
        word: Word::Crate,
        name: "crate",
        form: "crate = \"…\"",
        go: "",
        summary: "The path of `genclient-runtime`, where `Cargo.toml` gives it another name.",
        details: "A list type takes it, too. `group_version!` finds the runtime by itself.",
        example: "crate = \"rt\"",
        repeatable: false,
    },
    Attribute {
        word: Word::NoCrd,
        name: "no_crd",
        form: "no_crd",
        go: "",
        summary: "No CRD is written: something else serves the kind, such as an aggregated API server.",
        details: "",
        example: "no_crd",
        repeatable: false,
    },
    Attribute {
        word: Word::Shortname,
        name: "shortname",
        form: "shortname = \"…\"",
        go: "+kubebuilder:resource:shortName",
        summary: "A short name for kubectl.",
        details: "",
        example: "shortname = \"net\"",
        repeatable: true,
    },
    Attribute {
        word: Word::Singular,
        name: "singular",
        form: "singular = \"…\"",
        go: "+kubebuilder:resource:singular",
        summary: "The singular name, where the kind in lower case is not it.",
        details: "",
        example: "singular = \"net\"",
        repeatable: false,
    },
    Attribute {
        word: Word::Category,
        name: "category",
        form: "category = \"…\"",
        go: "+kubebuilder:resource:categories",
        summary: "A group of kinds that kubectl lists together, as in `kubectl get all`.",
        details: "",
        example: "category = \"all\"",
        repeatable: true,
    },
    Attribute {
        word: Word::Printcolumn,
        name: "printcolumn",
        form: "printcolumn(name = \"…\", type_ = \"…\", json_path = \"…\", description = \"…\", format = \"…\", priority = 0)",
        go: "+kubebuilder:printcolumn",
        summary: "A column that `kubectl get` shows.",
        details: "`type_` is string, integer, number, boolean or date. A priority above 0 shows it with `-o wide` only.",
        example: "printcolumn(name = \"CIDR\", type_ = \"string\", json_path = \".spec.cidr\")",
        repeatable: true,
    },
    Attribute {
        word: Word::Selectable,
        name: "selectable",
        form: "selectable = \"…\"",
        go: "+kubebuilder:selectablefield",
        summary: "A field that a field selector may name.",
        details: "",
        example: "selectable = \".spec.cidr\"",
        repeatable: true,
    },
    Attribute {
        word: Word::Scale,
        name: "scale",
        form: "scale(spec_replicas_path = \"…\", status_replicas_path = \"…\", label_selector_path = \"…\")",
        go: "+kubebuilder:subresource:scale",
        summary: "The CRD has the scale subresource.",
        details: "",
        example: "scale(spec_replicas_path = \".spec.replicas\", status_replicas_path = \".status.replicas\")",
        repeatable: false,
    },
    Attribute {
        word: Word::Annotation,
        name: "annotation",
        form: "annotation(\"KEY\", \"VALUE\")",
        go: "+kubebuilder:metadata:annotations",
        summary: "An annotation of the CRD.",
        details: "The API server refuses a CRD in a group under k8s.io or kubernetes.io without the annotation \
         `api-approved.kubernetes.io`.",
        example: "annotation(\"api-approved.kubernetes.io\", \"unapproved, sample\")",
        repeatable: true,
    },
    Attribute {
        word: Word::Label,
        name: "label",
        form: "label(\"KEY\", \"VALUE\")",
        go: "+kubebuilder:metadata:labels",
        summary: "A label of the CRD.",
        details: "",
        example: "label(\"app.kubernetes.io/part-of\", \"samplecrd\")",
        repeatable: true,
    },
    Attribute {
        word: Word::Storage,
        name: "storage",
        form: "storage, storage = false",
        go: "+kubebuilder:storageversion",
        summary: "Of several versions of a kind, the one that is stored.",
        details: "Exactly one version is stored; a kind with one version needs no mark.",
        example: "storage",
        repeatable: false,
    },
    Attribute {
        word: Word::Served,
        name: "served",
        form: "served, served = false",
        go: "+kubebuilder:unservedversion",
        summary: "Whether the API server serves this version.",
        details: "",
        example: "served = false",
        repeatable: false,
    },
    Attribute {
        word: Word::Deprecated,
        name: "deprecated",
        form: "deprecated, deprecated = \"WARNING\"",
        go: "+kubebuilder:deprecatedversion",
        summary: "The API server warns whoever uses this version.",
        details: "",
        example: "deprecated = \"use v2\"",
        repeatable: false,
    },
    Attribute {
        word: Word::Validation,
        name: "validation",
        form: "validation = RULE",
        go: "+kubebuilder:validation:XValidation",
        summary: "A CEL rule over the whole object: a text, or an expression that gives a `kube::core::Rule`.",
        details: "Rules for a spec stand on the spec, through `kube::KubeSchema`.",
        example: "validation = \"self.metadata.name.size() <= 20\"",
        repeatable: true,
    },
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
