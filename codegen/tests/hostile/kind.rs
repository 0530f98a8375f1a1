//! A kind that a crate declares: how it is called, and the requests that its client must make.
//!
//! All of this is known to whoever writes the crate; nothing of it is asked of the generator.

/// What a client can do, in the order of the generated methods.
pub const VERBS: &[&str] = &[
    "create",
    "update",
    "update_status",
    "delete",
    "delete_collection",
    "get",
    "list",
    "watch",
    "patch",
    "apply",
    "apply_status",
];

/// A method that an attribute asks for, of the kind's own type.
#[derive(Clone, Debug)]
pub struct Method {
    /// The name as a call spells it.
    pub name: &'static str,
    /// `get`, `create` or `update`.
    pub verb: &'static str,
    pub subresource: &'static str,
}

#[derive(Clone, Debug)]
pub struct Kind {
    pub kind: String,
    pub group: String,
    pub version: String,
    /// The clientset's method for the group and version.
    pub clients: String,
    pub plural: String,
    /// The method for the kind.
    pub accessor: String,
    pub namespaced: bool,
    pub verbs: Vec<&'static str>,
    pub methods: Vec<Method>,
}

/// One call of a generated method: the code, and the method and path of the request that it makes.
pub struct Call {
    pub code: String,
    pub request: String,
}

impl Kind {
    /// A kind in a namespace with a client that has every verb but those of a status.
    pub fn new(group_version: &str, clients: &str, kind: &str, plural: &str) -> Self {
        let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
        Self {
            kind: kind.to_owned(),
            group: group.to_owned(),
            version: version.to_owned(),
            clients: clients.to_owned(),
            plural: plural.to_owned(),
            accessor: plural.to_owned(),
            namespaced: true,
            verbs: VERBS.iter().copied().filter(|verb| !verb.ends_with("status")).collect(),
            methods: Vec::new(),
        }
    }

    pub fn cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }

    pub fn accessor(mut self, accessor: &str) -> Self {
        self.accessor = accessor.to_owned();
        self
    }

    pub fn verbs(mut self, verbs: &[&'static str]) -> Self {
        self.verbs = verbs.to_vec();
        self
    }

    pub fn method(mut self, name: &'static str, verb: &'static str, subresource: &'static str) -> Self {
        self.methods.push(Method { name, verb, subresource });
        self
    }

    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Calls of every generated method, on `clients`, the clients of the kind's group and version.
    pub fn calls(&self) -> Vec<Call> {
        let root = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        let everywhere = format!("{root}/{}", self.plural);
        let (client, collection) = match self.namespaced {
            true => (
                format!("clients.{}(\"default\")", self.accessor),
                format!("{root}/namespaces/default/{}", self.plural),
            ),
            false => (format!("clients.{}()", self.accessor), everywhere.clone()),
        };
        let all = format!("clients.all_{}()", self.accessor);
        let object = format!("{collection}/obj");
        let config = format!(
            "&serde_json::json!({{\"apiVersion\": {:?}, \"kind\": {:?}, \"metadata\": {{\"name\": \"obj\"}}}})",
            self.api_version(),
            self.kind
        );
        let mut calls = Vec::new();
        let mut call = |code: String, request: String| calls.push(Call { code, request });
        for verb in &self.verbs {
            match *verb {
                "create" => call(format!("{client}.create(&object()).await"), format!("POST {collection}")),
                "update" => call(format!("{client}.update(&object()).await"), format!("PUT {object}")),
                "update_status" => {
                    call(format!("{client}.update_status(&object()).await"), format!("PUT {object}/status"));
                }
                "delete" => call(format!("{client}.delete(\"obj\").await"), format!("DELETE {object}")),
                "delete_collection" => call(
                    format!("{client}.delete_collection(&Default::default()).await"),
                    format!("DELETE {collection}"),
                ),
                "get" => call(format!("{client}.get(\"obj\").await"), format!("GET {object}")),
                "list" => {
                    let get = format!("GET {collection}");
                    call(format!("{client}.list(&Default::default()).await"), get.clone());
                    call(format!("log.first({client}.pages(&Default::default())).await"), get);
                    if self.namespaced {
                        let get = format!("GET {everywhere}");
                        call(format!("{all}.list(&Default::default()).await"), get.clone());
                        call(format!("log.first({all}.pages(&Default::default())).await"), get);
                    }
                }
                "watch" => {
                    let code = format!("log.first({client}.watch(&Default::default())).await");
                    call(code, format!("GET {collection}"));
                    if self.namespaced {
                        let code = format!("log.first({all}.watch(&Default::default())).await");
                        call(code, format!("GET {everywhere}"));
                    }
                }
                "patch" => {
                    let merge = "&genclient_runtime::Patch::merge(&serde_json::json!({}))";
                    call(format!("{client}.patch(\"obj\", {merge}).await"), format!("PATCH {object}"));
                    let has = |verb| self.verbs.contains(&verb);
                    if has("get") {
                        call(format!("{client}.update_with(\"obj\", |_| ()).await"), format!("GET {object}"));
                    }
                    if has("get") && has("update_status") {
                        call(
                            format!("{client}.update_status_with(\"obj\", |_| ()).await"),
                            format!("GET {object}"),
                        );
                    }
                }
                "apply" => call(
                    format!("{client}.apply_untyped({config}).field_manager(\"m\").await"),
                    format!("PATCH {object}"),
                ),
                "apply_status" => call(
                    format!("{client}.apply_status_untyped({config}).field_manager(\"m\").await"),
                    format!("PATCH {object}/status"),
                ),
                other => panic!("`{other}` is no verb"),
            }
        }
        for Method { name, verb, subresource } in &self.methods {
            let path = format!("{object}/{subresource}");
            match *verb {
                "get" => call(format!("{client}.{name}(\"obj\").await"), format!("GET {path}")),
                "create" => {
                    call(format!("{client}.{name}(\"obj\", &object()).await"), format!("POST {path}"))
                }
                "update" => call(format!("{client}.{name}(\"obj\", &object()).await"), format!("PUT {path}")),
                other => panic!("`{other}` is no verb of a method here"),
            }
        }
        calls
    }
}
