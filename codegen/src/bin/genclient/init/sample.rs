//! The first kind: its type, a test, and a controller.

use std::{collections::BTreeMap, path::PathBuf};

use genclient::{
    model,
    model::{Group, Resource, Version},
    names,
    source::{Packages, Sources},
};

use super::project::Project;
use crate::{args::InitArgs, report::Failure};

/// What the module of the first kind imports.
const IMPORTED: [&str; 7] =
    ["Deserialize", "GenClient", "GenClientList", "JsonSchema", "ListMeta", "ObjectMeta", "Serialize"];

/// Whether a kind and this make the name of one of its types.
fn is_part(rest: &str) -> bool {
    ["", "Spec", "Status", "List"].contains(&rest)
}

/// The texts of the first kind, and the names that generated code gives it.
pub(super) struct Sample {
    pub kind: String,
    pub group: String,
    version: String,
    /// The name of the kind's module, test and manifest.
    pub snake: String,
    /// What leads to its informer: `example().v1().widgets()`.
    informers: String,
    /// What leads to it in the scheme: `ExampleV1Widget`.
    variant: String,
    /// Its lister in the module of the listers.
    lister: String,
    /// What the names of its CRD start with.
    pub plural: String,
    /// The paths of the module of the types and of the generated code.
    types: String,
    generated: String,
}

impl Sample {
    /// Reads the kind as the generator will, which refuses names that cannot be.
    pub fn new(options: &InitArgs, project: &Project) -> Result<Self, Failure> {
        let InitArgs { kind, group, api_version, .. } = options;
        if IMPORTED.iter().any(|name| name.strip_prefix(kind.as_str()).is_some_and(is_part)) {
            return Err(Failure::message(format!("the first kind cannot be called `{kind}`"))
                .help("the sample imports a name that it would have; choose another kind to begin with"));
        }
        let module = names::module_within("", &api_version.replace('-', "_"));
        let mut sample = Self {
            kind: kind.clone(),
            group: group.clone(),
            version: api_version.clone(),
            snake: names::snake(kind),
            informers: String::new(),
            variant: String::new(),
            lister: String::new(),
            plural: String::new(),
            types: format!("{}::{module}", project.types_crate()),
            generated: project.generated(),
        };
        let file = PathBuf::from(format!("apis/src/{module}.rs"));
        let files = BTreeMap::from([
            (PathBuf::from("apis/Cargo.toml"), "[package]\nname = \"apis\"\n".to_owned()),
            (PathBuf::from("apis/src/lib.rs"), format!("pub mod {module};\n")),
            (file, sample.types()),
        ]);
        let sources = Sources::load(&files, &["apis".into()], &Packages::default());
        let model = match model(&sources) {
            Ok(model) => model,
            Err(errors) => return Err(Failure::sources(sources, errors)),
        };
        let named =
            model.resources().next().map(|(group, version, resource)| names(group, version, resource));
        if let Some((informers, variant, plural)) = named {
            sample.lister = format!(
                "{}Lister",
                informers.split("()").take(2).collect::<String>().replace('.', "::") + "::" + kind
            );
            (sample.informers, sample.variant, sample.plural) = (informers, variant, plural);
        }
        Ok(sample)
    }

    /// The module of the kind.
    pub fn types(&self) -> String {
        let Self { kind, group, version, .. } = self;
        let (option, vec) =
            (self.unless_own("Option", "std::option::Option"), self.unless_own("Vec", "std::vec::Vec"));
        format!(
            r#"//! The kinds of `{group}/{version}`.

use genclient_runtime::{{GenClient, GenClientList, ListMeta, ObjectMeta}};
use schemars::JsonSchema;
use serde::{{Deserialize, Serialize}};

genclient_runtime::group_version!("{group}/{version}");

/// {kind} is a first kind, to be made yours.
#[derive(Clone, Debug, PartialEq, GenClient)]
#[genclient(printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"))]
pub struct {kind} {{
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: {kind}Spec,
    /// What there is.
    pub status: {option}<{kind}Status>,
}}

/// What a `{kind}` is wanted to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct {kind}Spec {{
    /// How large it is to be.
    #[schemars(range(min = 0))]
    pub size: i32,
}}

/// What a `{kind}` is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct {kind}Status {{
    /// Whether it is as wanted.
    #[serde(default)]
    pub ready: bool,
}}

/// {kind}List is a list of `{kind}` objects.
#[derive(Clone, Debug, PartialEq, GenClientList)]
pub struct {kind}List {{
    /// The list's metadata.
    pub metadata: ListMeta,
    /// The objects.
    pub items: {vec}<{kind}>,
}}
"#
        )
    }

    /// A name that the texts use, or its path if the kind or one of its parts is called so.
    fn unless_own<'a>(&self, name: &'a str, path: &'a str) -> &'a str {
        if self.kind == name { path } else { name }
    }

    /// The name of the test, which is that of a crate too.
    pub fn test_name(&self) -> String {
        let taken =
            names::is_keyword(&self.snake) || ["test", "core", "std", "alloc"].contains(&&*self.snake);
        if taken { format!("{}_kind", self.snake) } else { self.snake.clone() }
    }

    /// A test of the type and of the generated code.
    pub fn test(&self) -> String {
        let Self { kind, group, version, snake, variant, plural, types, generated, .. } = self;
        format!(
            r#"//! What a manifest of a `{kind}` is read as.

use genclient_runtime::CustomResourceExt as _;
use {generated}::clientset::scheme;

#[test]
fn a_manifest_is_read_as_a_{snake}() {{
    let manifest = "apiVersion: {group}/{version}\nkind: {kind}\nmetadata: {{name: first}}\nspec: {{size: 3}}\n";
    let objects = scheme::decode(manifest).expect("the manifest is valid");
    let [scheme::Object::{variant}(object)] = &objects[..] else {{ panic!("{{objects:?}}") }};
    assert_eq!(object.spec.size, 3);
}}

#[test]
fn the_definition_has_its_name() {{
    assert_eq!({types}::{kind}::crd_name(), "{plural}.{group}");
}}
"#
        )
    }

    /// A manifest of an object.
    pub fn object(&self) -> String {
        let Self { kind, group, version, .. } = self;
        format!("apiVersion: {group}/{version}\nkind: {kind}\nmetadata:\n  name: first\nspec:\n  size: 3\n")
    }

    /// A controller that says what there is.
    pub fn controller(&self) -> String {
        let Self { kind, informers, plural, types, generated, lister, .. } = self;
        format!(
            r#"//! A controller of `{kind}` objects. It says what there is; make `reconcile` do what is wanted.

use std::{{error::Error, time::Duration}};

use genclient_runtime::{{Action, Event, ObjectKey, WorkQueue}};
use {generated}::{{
    clientset::Clientset, informers::SharedInformerFactory, listers::{lister},
}};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {{
    let clientset = Clientset::try_default().await?;
    let factory = SharedInformerFactory::builder(clientset).build();
    let informer = factory.{informers};

    // Every change queues the key of its object.
    let queue = WorkQueue::new("{plural}");
    let keys = queue.clone();
    informer.informer().add_event_handler(move |event: &Event<{types}::{kind}>| {{
        keys.add(event.key());
    }});
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(60)).await?;
    println!("the cache is in sync; Ctrl-C ends the controller");

    // Two workers reconcile the keys; one key is never reconciled twice at once.
    let lister = informer.lister();
    let workers = queue.run(2, move |key: ObjectKey| {{
        let lister = lister.clone();
        async move {{ reconcile(&lister, &key) }}
    }});
    let shutdown = async {{
        let signal = tokio::signal::ctrl_c().await;
        queue.shutdown(Duration::from_secs(10)).await;
        signal
    }};
    let ((), signal) = tokio::join!(workers, shutdown);
    factory.shutdown().await;
    Ok(signal?)
}}

/// Brings the world into the state that the object describes.
fn reconcile(lister: &{kind}Lister, key: &ObjectKey) -> Result<Action, genclient_runtime::Error> {{
    let namespace = key.namespace.as_deref().unwrap_or_default();
    match lister.{accessor}(namespace).get(&key.name) {{
        Some(object) => println!("{{key}} wants the size {{}}", object.spec.size),
        None => println!("{{key}} is gone"),
    }}
    Ok(Action::await_change())
}}
"#,
            accessor = informers.rsplit('.').next().unwrap_or_default().trim_end_matches("()"),
        )
    }
}

/// What leads to the informer of a kind and to its variant in the scheme, and its plural.
fn names(group: &Group, version: &Version, resource: &Resource) -> (String, String, String) {
    (
        format!("{}().{}().{}()", group.ident, version.ident, resource.accessor),
        format!("{}{}", group.camel(version), resource.kind),
        resource.plural.clone(),
    )
}
