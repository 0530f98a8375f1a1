//! Which structs apply configurations take apart, and what the others are in them.

use genclient::model::{ApplyFieldType, ApplyType};

use crate::support::apply_types;

const DERIVES: &str = "#[derive(Clone, Debug, Serialize, Deserialize)]";

/// A type in short: the name of a configuration, a path, or `json`.
fn shown(types: &[ApplyType], of: &ApplyFieldType) -> String {
    let all =
        |parts: &[ApplyFieldType]| parts.iter().map(|part| shown(types, part)).collect::<Vec<_>>().join(", ");
    match of {
        ApplyFieldType::Apply(number) => types[*number].name.clone(),
        ApplyFieldType::Path(path, parts) if parts.is_empty() => path.to_string(),
        ApplyFieldType::Path(path, parts) => format!("{path}<{}>", all(parts)),
        ApplyFieldType::Tuple(parts) => format!("({})", all(parts)),
        ApplyFieldType::Array(item, length) => format!("[{}; {length}]", shown(types, item)),
        ApplyFieldType::Json => "json".to_owned(),
    }
}

/// The fields of the kind's configuration, or of that of this name, in the crate with these items.
fn fields(items: &str, name: &str) -> Vec<String> {
    let root = format!(
        "genclient_runtime::group_version!(\"example.com/v1\");\n\
         #[derive(GenClient)] pub struct Foo {{ pub metadata: ObjectMeta, pub spec: Spec }}\n{items}"
    );
    let types = apply_types(&[("lib.rs", &root)]);
    let of = types.iter().find(|of| of.name == name).unwrap_or_else(|| panic!("no {name} in {types:#?}"));
    let field = |field: &genclient::model::ApplyField| {
        let flatten = if field.flatten { " flatten" } else { "" };
        format!("{}{flatten}: {}", field.key, shown(&types, &field.of))
    };
    of.fields.iter().map(field).collect()
}

fn spec(fields_of_spec: &str) -> Vec<String> {
    fields(&format!("{DERIVES} pub struct Spec {{ {fields_of_spec} }}"), "SpecApply")
}

#[test]
fn a_struct_is_taken_apart_if_everything_about_it_is_derived() {
    for (item, expected) in [
        (format!("{DERIVES} pub struct Spec {{ a: i32 }}"), "spec: SpecApply"),
        (
            "#[derive(serde::Serialize, Deserialize, Clone, Debug)] pub struct Spec { a: i32 }".to_owned(),
            "spec: SpecApply",
        ),
        // A hand-written `Debug` may hide a secret.
        (
            "#[derive(Clone, Serialize, Deserialize)] pub struct Spec { a: i32 }".to_owned(),
            "spec: my_apis::Spec",
        ),
        ("#[derive(Clone, Debug, Serialize)] pub struct Spec { a: i32 }".to_owned(), "spec: my_apis::Spec"),
        (format!("{DERIVES} #[serde(transparent)] pub struct Spec {{ a: i32 }}"), "spec: my_apis::Spec"),
        (
            format!("{DERIVES} #[serde(into = \"String\")] pub struct Spec {{ a: i32 }}"),
            "spec: my_apis::Spec",
        ),
        (format!("{DERIVES} pub struct Spec(i32);"), "spec: my_apis::Spec"),
        (format!("{DERIVES} pub struct Spec {{ #[cfg(feature = \"a\")] a: i32 }}"), "spec: my_apis::Spec"),
        (
            format!(
                "#[cfg_attr(feature = \"a\", serde(rename_all = \"camelCase\"))] {DERIVES} pub struct Spec {{ a: i32 }}"
            ),
            "spec: my_apis::Spec",
        ),
        (format!("{DERIVES} pub enum Spec {{ A }}"), "spec: my_apis::Spec"),
        (format!("mod private {{ {DERIVES} pub enum Spec {{ A }} }} use private::Spec;"), "spec: json"),
        ("use elsewhere::Spec;".to_owned(), "spec: json"),
    ] {
        assert_eq!(fields(&item, "FooApply"), [expected], "{item}");
    }
}

#[test]
fn what_only_its_crate_can_write_is_json() {
    assert_eq!(
        spec("#[serde(with = \"a\")] a: Duration, #[serde(skip_deserializing)] b: i32"),
        ["a: json", "b: json"]
    );
    assert_eq!(
        spec("#[serde_as(as = \"DurationSeconds\")] a: i32, #[serde_with::serde_as(as = \"_\")] b: i32"),
        ["a: json", "b: json"]
    );
    assert_eq!(spec("a: chrono::DateTime<Utc>, b: Vec<chrono::NaiveDate>"), ["a: json", "b: Vec<json>"]);
}

#[test]
fn json_takes_what_the_flattened_fields_before_it_leave() {
    let rest = "#[serde(flatten)] rest: elsewhere::Rest, #[serde(flatten)] size: Size, a: i32";
    let items = format!("{DERIVES} pub struct Spec {{ {rest} }} {DERIVES} pub struct Size {{ b: i32 }}");
    assert_eq!(fields(&items, "SpecApply"), ["size flatten: SizeApply", "a: i32", "rest flatten: json"]);
    // Two of them would both take everything.
    let two = "#[serde(flatten, with = \"x\")] a: A, #[serde(flatten, with = \"y\")] b: A";
    assert_eq!(
        fields(&format!("{DERIVES} pub struct Spec {{ {two} }}"), "FooApply"),
        ["spec: my_apis::Spec"]
    );
}

#[test]
fn a_field_of_a_kind_behind_a_condition_is_json_and_there_once() {
    let root = "genclient_runtime::group_version!(\"example.com/v1\");\n\
                #[derive(GenClient)] pub struct Foo {\n\
                pub metadata: ObjectMeta,\n\
                #[cfg(feature = \"a\")] pub size: i32,\n\
                #[cfg(not(feature = \"a\"))] pub size: String,\n\
                #[cfg_attr(feature = \"a\", serde(rename = \"b\"))] pub name: String,\n\
                pub text: String }";
    let types = apply_types(&[("lib.rs", root)]);
    let fields: Vec<_> =
        types[0].fields.iter().map(|field| format!("{}: {}", field.name, shown(&types, &field.of))).collect();
    assert_eq!(fields, ["size: json", "name: json", "text: String"]);
}

#[test]
fn modules_are_files_that_the_compiler_finds() {
    let items = format!(
        "{DERIVES} pub struct Spec {{ a: Größe, b: left::Size, c: right::Size }}
        {DERIVES} pub struct Größe {{ a: i32 }}
        pub mod left {{ {DERIVES} pub struct Size {{ a: i32 }} }}
        pub mod right {{ {DERIVES} pub struct Size {{ a: i32 }} }}"
    );
    assert_eq!(fields(&items, "SpecApply"), ["a: GrößeApply", "b: SizeApply", "c: RightSizeApply"]);
    let root = format!(
        "genclient_runtime::group_version!(\"example.com/v1\");\n\
         #[derive(GenClient)] pub struct Foo {{ pub metadata: ObjectMeta, pub spec: Spec }}\n{items}"
    );
    let types = apply_types(&[("lib.rs", &root)]);
    let modules: Vec<_> = types.iter().map(|of| of.module.as_str()).collect();
    assert_eq!(modules, ["foo", "spec", "gruf6udfe", "size", "right_size"]);
}

#[test]
fn two_versions_that_share_a_file_have_the_fields_of_their_own_types() {
    let version = |version: &str, field: &str| {
        format!(
            "genclient_runtime::group_version!(\"a.example.com/{version}\");\n\
             {DERIVES} pub struct Spec {{ pub {field}: i32 }}\n\
             #[path = \"../shared.rs\"] pub mod kinds;"
        )
    };
    let shared = "genclient_runtime::group_version!(super); use super::Spec;\n\
                  #[derive(GenClient)] #[genclient(no_crd)]\n\
                  pub struct Network { pub metadata: ObjectMeta, pub spec: Spec }";
    let (v1, v2) = (version("v1", "a"), version("v2", "b"));
    let files = [
        ("lib.rs", "pub mod v1; pub mod v2;"),
        ("v1/mod.rs", &v1),
        ("v2/mod.rs", &v2),
        ("shared.rs", shared),
    ];
    let types = apply_types(&files);
    let of = |version: &str, name: &str| {
        let of = types.iter().find(|of| of.version == version && of.name == name).expect("a type");
        of.fields.iter().map(|field| field.of.clone()).collect::<Vec<_>>()
    };
    for (version, field) in [("v1", "a"), ("v2", "b")] {
        let [ApplyFieldType::Apply(spec)] = of(version, "NetworkApply")[..] else { panic!("{types:#?}") };
        assert_eq!(types[spec].version, version);
        assert_eq!(types[spec].fields[0].key, field);
    }
}
