//! Custom resource definitions of annotated types.

use std::{collections::BTreeMap, io::Write as _};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceColumnDefinition, CustomResourceDefinitionNames, CustomResourceDefinitionSpec,
        CustomResourceDefinitionVersion, CustomResourceSubresourceScale, CustomResourceSubresourceStatus,
        CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps, SelectableField,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    CustomResourceExt, ResourceExt,
    core::{
        Rule,
        crd::merge_crds,
        schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter},
    },
};
use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{AddNullable, transform_subschemas},
};

pub use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
pub use kube::core::crd::MergeError;

/// The options of a CRD that `#[genclient(…)]` sets.
#[doc(hidden)]
pub struct CrdOptions<'a> {
    pub singular: &'a str,
    pub categories: &'a [&'a str],
    pub print_columns: &'a [PrintColumn<'a>],
    pub selectable: &'a [&'a str],
    pub status: bool,
    pub scale: Option<Scale<'a>>,
    pub annotations: &'a [(&'a str, &'a str)],
    pub labels: &'a [(&'a str, &'a str)],
    pub storage: bool,
    pub served: bool,
    pub deprecated: bool,
    pub deprecation_warning: Option<&'a str>,
    pub validations: Vec<Rule>,
}

/// One column of `kubectl get`.
#[doc(hidden)]
pub struct PrintColumn<'a> {
    pub name: &'a str,
    pub type_: &'a str,
    pub json_path: &'a str,
    pub description: Option<&'a str>,
    pub format: Option<&'a str>,
    pub priority: Option<i32>,
}

/// The scale subresource.
#[doc(hidden)]
pub struct Scale<'a> {
    pub spec_replicas_path: &'a str,
    pub status_replicas_path: &'a str,
    pub label_selector_path: Option<&'a str>,
}

/// Builds the CRD of one version of a kind.
#[doc(hidden)]
pub fn crd<K>(options: CrdOptions<'_>) -> CustomResourceDefinition
where
    K: CustomResourceExt + JsonSchema + k8s_openapi::Resource,
    K::Scope: ScopeName,
{
    let pairs = |pairs: &[(&str, &str)]| -> Option<BTreeMap<String, String>> {
        (!pairs.is_empty())
            .then(|| pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    };
    let strings = |strings: &[&str]| -> Option<Vec<String>> {
        (!strings.is_empty()).then(|| strings.iter().map(|text| (*text).to_owned()).collect())
    };
    let columns = options.print_columns.iter().map(|column| CustomResourceColumnDefinition {
        name: column.name.to_owned(),
        type_: column.type_.to_owned(),
        json_path: column.json_path.to_owned(),
        description: column.description.map(str::to_owned),
        format: column.format.map(str::to_owned),
        priority: column.priority,
    });
    let selectable = options.selectable.iter().map(|path| SelectableField { json_path: (*path).to_owned() });
    let scale = options.scale.map(|scale| CustomResourceSubresourceScale {
        spec_replicas_path: scale.spec_replicas_path.to_owned(),
        status_replicas_path: scale.status_replicas_path.to_owned(),
        label_selector_path: scale.label_selector_path.map(str::to_owned),
    });
    let status = options.status.then(|| CustomResourceSubresourceStatus(serde_json::json!({})));
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(K::crd_name().to_owned()),
            annotations: pairs(options.annotations),
            labels: pairs(options.labels),
            ..ObjectMeta::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: K::GROUP.to_owned(),
            names: CustomResourceDefinitionNames {
                kind: K::KIND.to_owned(),
                list_kind: Some(format!("{}List", K::KIND)),
                plural: K::URL_PATH_SEGMENT.to_owned(),
                singular: Some(options.singular.to_owned()),
                short_names: strings(K::shortnames()),
                categories: strings(options.categories),
            },
            scope: K::Scope::NAME.to_owned(),
            versions: vec![CustomResourceDefinitionVersion {
                name: K::VERSION.to_owned(),
                served: options.served,
                storage: options.storage,
                deprecated: options.deprecated.then_some(true),
                deprecation_warning: options.deprecation_warning.map(str::to_owned),
                additional_printer_columns: Some(columns.collect())
                    .filter(|columns: &Vec<_>| !columns.is_empty()),
                selectable_fields: Some(selectable.collect()).filter(|fields: &Vec<_>| !fields.is_empty()),
                schema: Some(CustomResourceValidation {
                    open_api_v3_schema: Some(schema::<K>(&options.validations)),
                }),
                subresources: (scale.is_some() || status.is_some())
                    .then_some(CustomResourceSubresources { scale, status }),
            }],
            ..CustomResourceDefinitionSpec::default()
        },
        ..CustomResourceDefinition::default()
    }
}

/// Builds the structural schema of a kind.
fn schema<K: JsonSchema>(validations: &[Rule]) -> JSONSchemaProps {
    let generator = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .with_transform(DropUnknownFormats)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<K>();
    // The title of the root only repeats the kind.
    schema.remove("title");
    if !validations.is_empty() {
        let rules = serde_json::to_value(validations).expect("rules are plain data, which is JSON");
        schema.insert("x-kubernetes-validations".to_owned(), rules);
    }
    serde_json::from_value(schema.to_value()).expect("the rewriters produce a structural schema")
}

/// Removes formats that the API server does not know. The server warns about each of them on every apply.
#[derive(Clone, Debug)]
struct DropUnknownFormats;

impl schemars::transform::Transform for DropUnknownFormats {
    fn transform(&mut self, schema: &mut Schema) {
        const UNKNOWN: &[&str] =
            &["uint", "uint8", "uint16", "uint32", "uint64", "uint128", "int", "int8", "int16", "int128"];
        transform_subschemas(self, schema);
        let unknown = schema
            .get("format")
            .and_then(|format| format.as_str())
            .is_some_and(|format| UNKNOWN.contains(&format));
        if unknown {
            schema.remove("format");
        }
    }
}

/// The name of a scope in a CRD.
#[doc(hidden)]
pub trait ScopeName {
    const NAME: &'static str;
}

impl ScopeName for k8s_openapi::NamespaceResourceScope {
    const NAME: &'static str = "Namespaced";
}

impl ScopeName for k8s_openapi::ClusterResourceScope {
    const NAME: &'static str = "Cluster";
}

/// Merges the versions of a kind into one CRD that stores the version `stored`.
///
/// The stored version comes first and the others follow by name. The annotations and labels of all versions
/// are merged. The singular, the short names and the categories are those of the stored version. The
/// generator rejects versions that contradict each other in any of these.
///
/// # Errors
///
/// Returns an error if there is no version, if `stored` is not one of them, or if they are not versions
/// of the same kind.
pub fn merge_versions(
    versions: impl IntoIterator<Item = CustomResourceDefinition>,
    stored: &str,
) -> Result<CustomResourceDefinition, MergeError> {
    let versions: Vec<_> = versions.into_iter().collect();
    let annotations: BTreeMap<_, _> = versions.iter().flat_map(|crd| crd.annotations().clone()).collect();
    let labels: BTreeMap<_, _> = versions.iter().flat_map(|crd| crd.labels().clone()).collect();
    let mut merged = merge_crds(versions, stored)?;
    merged.metadata.annotations = Some(annotations).filter(|map| !map.is_empty());
    merged.metadata.labels = Some(labels).filter(|map| !map.is_empty());
    merged.spec.versions.sort_by(|a, b| b.storage.cmp(&a.storage).then_with(|| a.name.cmp(&b.name)));
    Ok(merged)
}

/// Prints CRDs to the standard output as YAML documents, each below a line `# <name>`.
///
/// The generated example `crds` calls it, because the schemas of annotated types exist only in compiled code.
/// The selectable fields are checked against the schemas before anything is printed.
#[doc(hidden)]
pub fn print_manifests(crds: &[CustomResourceDefinition]) -> Result<(), Box<dyn std::error::Error>> {
    let wrong: Vec<String> = crds.iter().flat_map(wrong_fields).collect();
    if !wrong.is_empty() {
        return Err(wrong.join("; ").into());
    }
    let mut out = std::io::stdout().lock();
    for crd in crds {
        write!(out, "---\n# {}\n{}", crd.name_any(), manifest(crd)?)?;
    }
    Ok(())
}

/// Reports the selectable fields that are not a string, a boolean or an integer. The API server rejects them.
fn wrong_fields(crd: &CustomResourceDefinition) -> Vec<String> {
    let mut wrong = Vec::new();
    for version in &crd.spec.versions {
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        for field in version.selectable_fields.iter().flatten() {
            let mut names = field.json_path.split('.').skip(1);
            let found = names.try_fold(schema, |schema, name| {
                schema?.properties.as_ref().and_then(|properties| properties.get(name)).map(Some)
            });
            let problem = match found.flatten().map(|schema| schema.type_.as_deref()) {
                Some(Some("string" | "boolean" | "integer")) => continue,
                Some(_) => "is not a string, a boolean or an integer",
                None => "does not exist",
            };
            wrong.push(format!(
                "the selectable field `{}` of {} {} {problem}",
                field.json_path, crd.spec.names.kind, version.name
            ));
        }
    }
    wrong
}

/// Writes a CRD as a YAML manifest.
pub fn manifest(crd: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string(crd)
}
