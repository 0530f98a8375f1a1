//! What a request asks for.

use genclient_runtime::apply::ApplyConfiguration;
use kube::Resource;
use serde::Serialize;
use serde_json::Value;

/// What is done with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Reads one object, or a subresource of one.
    Get,
    /// Lists objects.
    List,
    /// Watches objects. An informer whose list is streamed begins with one, too.
    Watch,
    /// Creates an object.
    Create,
    /// Replaces an object.
    Update,
    /// Patches or applies an object.
    Patch,
    /// Deletes an object.
    Delete,
    /// Deletes many objects.
    DeleteCollection,
}

impl Verb {
    /// Returns whether the verb changes objects.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// How a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatchType {
    /// A list of operations (RFC 6902).
    Json,
    /// A document that is merged into the object (RFC 7386).
    Merge,
    /// A document that is merged by the rules of Kubernetes' own kinds.
    Strategic,
    /// A configuration that is applied by the server.
    Apply,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// An object, as it was sent.
    Object(Value),
    /// A patch.
    Patch(PatchType, Value),
    /// The options of a deletion, if there are any.
    Options(Value),
}

/// A request for a resource.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use genclient_fake::{Action, Server, Verb};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
///
/// let server = Server::builder().record_actions().build();
/// let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
///
/// let map = serde_json::from_value(serde_json::json!({ "metadata": { "name": "example" } }))?;
/// maps.create(&Default::default(), &map).await?;
/// maps.delete("example", &Default::default()).await?;
///
/// assert_eq!(
///     server.actions(),
///     [Action::create("default", &map), Action::delete::<ConfigMap>("default", "example")]
/// );
/// // Without a type:
/// let untyped = Action::new(Verb::Delete, "v1", "configmaps").namespace("default").name("example");
/// assert_eq!(server.actions()[1], untyped);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Action {
    /// What is done.
    pub verb: Verb,
    /// The group, which is empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural of the kind.
    pub resource: String,
    /// The subresource, or an empty text.
    pub subresource: String,
    /// The namespace, or an empty text for all of them and for kinds that have none.
    pub namespace: String,
    /// The name in the path, or an empty text. The object of a `create` has its name in the body.
    pub name: String,
    /// The label selector of a `list`, a `watch` or a `delete-collection`.
    pub labels: String,
    /// The field selector of a `list`, a `watch` or a `delete-collection`.
    pub fields: String,
    /// Whether an apply takes fields from other managers.
    pub force: bool,
    /// Whether nothing is to be written.
    pub dry_run: bool,
    /// The body.
    pub content: Option<Content>,
}

impl Action {
    /// Returns an action on a resource, such as `apps/v1` and `deployments`, in all namespaces.
    pub fn new(verb: Verb, api_version: &str, resource: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            verb,
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
            labels: String::new(),
            fields: String::new(),
            force: false,
            dry_run: false,
            content: None,
        }
    }

    fn of<K: Resource<DynamicType = ()>>(verb: Verb, namespace: &str) -> Self {
        Self::new(verb, &K::api_version(&()), &K::plural(&())).namespace(namespace)
    }

    /// Expects that an object is read. The namespace of a kind that has none is an empty text.
    pub fn get<K: Resource<DynamicType = ()>>(namespace: &str, name: &str) -> Self {
        Self::of::<K>(Verb::Get, namespace).name(name)
    }

    /// Expects that the objects of a namespace are listed, or those of all if the namespace is an empty text.
    pub fn list<K: Resource<DynamicType = ()>>(namespace: &str) -> Self {
        Self::of::<K>(Verb::List, namespace)
    }

    /// Expects that a namespace is watched, or all if it is an empty text.
    pub fn watch<K: Resource<DynamicType = ()>>(namespace: &str) -> Self {
        Self::of::<K>(Verb::Watch, namespace)
    }

    /// Expects that an object is created.
    pub fn create<K: Resource<DynamicType = ()> + Serialize>(namespace: &str, object: &K) -> Self {
        Self::of::<K>(Verb::Create, namespace).object(object)
    }

    /// Expects that an object is replaced.
    pub fn update<K: Resource<DynamicType = ()> + Serialize>(namespace: &str, object: &K) -> Self {
        let name = object.meta().name.clone().unwrap_or_default();
        Self::of::<K>(Verb::Update, namespace).name(&name).object(object)
    }

    /// Expects that the status of an object is replaced.
    pub fn update_status<K: Resource<DynamicType = ()> + Serialize>(namespace: &str, object: &K) -> Self {
        Self::update(namespace, object).subresource("status")
    }

    /// Expects a patch.
    pub fn patch<K: Resource<DynamicType = ()>>(
        namespace: &str,
        name: &str,
        patch_type: PatchType,
        patch: &impl Serialize,
    ) -> Self {
        let content = Content::Patch(patch_type, value(patch));
        Self { content: Some(content), ..Self::of::<K>(Verb::Patch, namespace).name(name) }
    }

    /// Expects that a configuration is applied. One without a type is a [`patch`](Action::patch) with
    /// [`PatchType::Apply`].
    pub fn apply<A: ApplyConfiguration>(namespace: &str, config: &A) -> Self {
        let name = &config.metadata().name;
        Self::patch::<A::Object>(namespace, name, PatchType::Apply, config)
    }

    /// Expects that the configuration of a status is applied.
    pub fn apply_status<A: ApplyConfiguration>(namespace: &str, config: &A) -> Self {
        Self::apply(namespace, config).subresource("status")
    }

    /// Expects that an object is deleted.
    pub fn delete<K: Resource<DynamicType = ()>>(namespace: &str, name: &str) -> Self {
        Self::of::<K>(Verb::Delete, namespace).name(name)
    }

    /// Expects that many objects are deleted.
    pub fn delete_collection<K: Resource<DynamicType = ()>>(namespace: &str) -> Self {
        Self::of::<K>(Verb::DeleteCollection, namespace)
    }

    /// Sets the namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..self }
    }

    /// Sets the name in the path.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Sets the subresource.
    #[must_use]
    pub fn subresource(self, subresource: &str) -> Self {
        Self { subresource: subresource.to_owned(), ..self }
    }

    /// Sets the label selector.
    #[must_use]
    pub fn labels(self, selector: &str) -> Self {
        Self { labels: selector.to_owned(), ..self }
    }

    /// Sets the field selector.
    #[must_use]
    pub fn fields(self, selector: &str) -> Self {
        Self { fields: selector.to_owned(), ..self }
    }

    /// Expects an apply that takes fields from other managers.
    #[must_use]
    pub fn force(self) -> Self {
        Self { force: true, ..self }
    }

    /// Expects that nothing is written.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// Sets the object of the body.
    #[must_use]
    pub fn object(self, object: &impl Serialize) -> Self {
        Self { content: Some(Content::Object(value(object))), ..self }
    }

    /// Sets the options of a deletion.
    #[must_use]
    pub fn options(self, options: &impl Serialize) -> Self {
        Self { content: Some(Content::Options(value(options))), ..self }
    }

    /// Returns the JSON of the body.
    pub fn body(&self) -> Option<&Value> {
        match self.content.as_ref()? {
            Content::Object(value) | Content::Patch(_, value) | Content::Options(value) => Some(value),
        }
    }

    /// Returns `deployments.apps`, or `pods`.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

/// Returns an object as JSON. What cannot be sent is shown as the error, and equals nothing that was sent.
fn value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_else(|error| Value::String(format!("<{error}>")))
}
