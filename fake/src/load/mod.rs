//! Loading objects: the state in which a test, or a server, begins.
//!
//! * An object is checked, defaulted and completed as if it were created, and is one write and one event.
//! * What a client cannot set at creation and what says where an object is in its life is kept: `status`, and of the
//!   metadata `uid`, `creationTimestamp`, `deletionTimestamp` with `deletionGracePeriodSeconds`, `generation` and
//!   `managedFields`. What is not given, the server sets. `resourceVersion` is always the server's own.
//! * CRDs come first and then namespaces, whatever the order of the text; the rest follows in its order.
//! * An object that is there already is replaced, and so is its status; one that is loaded twice at once is an error.
//! * A namespace that nothing creates is created before the first object in it.
//! * Loading is no request: it is not recorded among the actions of clients.

mod error;
mod manifest;

use std::{collections::HashSet, fs, path::Path};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub use error::LoadError;
use error::{Place, Source};
use manifest::{files, flatten, read, unreadable};

use crate::{
    Server, decode,
    kinds::{Kind, Nulls},
    metadata,
    request::Request,
    status::Failure,
    storage::State,
    verbs::{self, Call, Part, Reply},
};

/// The field manager of objects that do not say who manages their fields.
const MANAGER: &str = "load";

/// The metadata of an object that is kept when it is loaded.
const KEPT: [&str; 6] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
];

impl Server {
    /// Loads the objects of a YAML text, which may have several documents, and lists among them.
    ///
    /// Returns the objects as the server keeps them, in the order of the text. An object without a namespace, of a
    /// kind that has them, goes to `default`. Of an object in the text, its status and what tells its history are
    /// kept: `uid`, `creationTimestamp`, `deletionTimestamp`, `generation` and `managedFields`. The version is
    /// always the server's own.
    ///
    /// # Errors
    /// Names the first document that could not be read or that the server refuses. What was loaded before it stays;
    /// if a document is no YAML, nothing is loaded.
    pub fn load_yaml(&self, text: &str) -> Result<Vec<Value>, LoadError> {
        let mut objects = Vec::new();
        read(None, text, &mut objects)?;
        self.load_all(objects)
    }

    /// Loads the objects of files, as [`load_yaml`](Server::load_yaml) does: the CRDs of all files come first.
    ///
    /// Of a folder, these are the files with the extensions `yaml`, `yml` and `json`, in the order of their names;
    /// folders in it are not entered.
    ///
    /// # Errors
    /// If a file cannot be read or has no YAML, and then nothing is loaded; or if the server refuses an object. What
    /// was loaded before it stays.
    pub fn load_files<P: AsRef<Path>>(
        &self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Vec<Value>, LoadError> {
        let mut objects = Vec::new();
        for path in paths {
            for file in files(path.as_ref())? {
                let text = fs::read_to_string(&file).map_err(|error| unreadable(&file, &error))?;
                read(Some(&file), &text, &mut objects)?;
            }
        }
        self.load_all(objects)
    }

    /// Loads objects, as [`load_yaml`](Server::load_yaml) does.
    ///
    /// # Errors
    /// Names the first object that the server refuses, by its place in the sequence. What was loaded before it stays.
    pub fn load_objects(&self, objects: impl IntoIterator<Item = Value>) -> Result<Vec<Value>, LoadError> {
        let mut flat = Vec::new();
        for (index, object) in objects.into_iter().enumerate() {
            flatten(&Source { file: None, document: index + 1 }, object, &mut flat);
        }
        self.load_all(flat)
    }

    /// Loads an object, as [`load_yaml`](Server::load_yaml) does, and returns it as the server keeps it.
    ///
    /// # Errors
    /// If the server refuses the object, or the type cannot read what the server made of it.
    pub fn load<K: Serialize + DeserializeOwned>(&self, object: &K) -> Result<K, LoadError> {
        let source = Source { file: None, document: 1 };
        let value = serde_json::to_value(object).map_err(|error| source.clone().error(error.to_string()))?;
        let place = Place::new(&source, &value);
        let loaded = self.load_objects([value])?.pop().unwrap_or_default();
        serde_json::from_value(loaded).map_err(|error| place.error(error.to_string()))
    }

    fn load_all(&self, objects: Vec<(Source, Value)>) -> Result<Vec<Value>, LoadError> {
        let mut order: Vec<usize> = (0..objects.len()).collect();
        order.sort_by_key(|index| match objects[*index].1["kind"].as_str() {
            Some("CustomResourceDefinition") => 0,
            Some("Namespace") => 1,
            _ => 2,
        });
        let mut loaded = vec![Value::Null; objects.len()];
        let mut uids = HashSet::new();
        for index in order {
            let (source, object) = &objects[index];
            loaded[index] = self.load_one(source, object.clone(), &uids)?;
            uids.insert(metadata::text(&loaded[index], "uid").to_owned());
        }
        Ok(loaded)
    }

    /// Loads an object. The one that it would replace must not be among those that were loaded with it.
    fn load_one(
        &self,
        source: &Source,
        mut object: Value,
        loaded: &HashSet<String>,
    ) -> Result<Value, LoadError> {
        let mut place = Place::new(source, &object);
        let (Some(api_version), Some(name)) = (object["apiVersion"].as_str(), object["kind"].as_str()) else {
            return Err(place.error("an object needs `apiVersion` and `kind`"));
        };
        let mut state = self.shared().state.lock();
        let found = state.kinds.all().find(|kind| kind.kind == name && kind.api_version() == api_version);
        let Some(kind) = found.cloned() else {
            let message =
                format!("no kind {name:?} is served in version {api_version:?}; is its CRD loaded?");
            return Err(place.error(message));
        };
        if kind.namespaced {
            if place.namespace.is_empty() {
                place.namespace = "default".to_owned();
                metadata::set_text(&mut object, "namespace", "default");
            }
            self.create_namespace(&mut state, &place.namespace);
        } else {
            metadata::of(&mut object).remove("namespace");
        }
        let (namespace, name) = (metadata::text(&object, "namespace"), metadata::text(&object, "name"));
        let there = state.get(&kind, namespace, name);
        let done = match there {
            Some(there) if loaded.contains(metadata::text(&there.value(&kind), "uid")) => {
                Err(Failure::already_exists(&kind, &place.name))
            }
            Some(there) => self.replace(&mut state, &kind, &there.version.to_string(), object),
            None => self.put(&mut state, &kind, object),
        };
        let kept = state.commit();
        done.and_then(|value| kept.map(|()| value)).map_err(|failure| place.error(failure.message()))
    }

    /// Creates a namespace, if there is none with this name.
    fn create_namespace(&self, state: &mut State, name: &str) {
        let Some(kind) = state.kinds.get("", "v1", "namespaces") else { return };
        if state.get(&kind, "", name).is_none() {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            // A name that no namespace can have is refused with the object.
            let _ = self.put(state, &kind, namespace);
        }
    }

    /// Replaces an object that is there, and its status if one is given.
    fn replace(
        &self,
        state: &mut State,
        kind: &Kind,
        version: &str,
        mut object: Value,
    ) -> Result<Value, Failure> {
        let name = metadata::text(&object, "name").to_owned();
        metadata::set_text(&mut object, "resourceVersion", version);
        let mut replaced = self.ask(state, kind, "PUT", &name, &object)?;
        if has_given_status(kind) && kind.has_status() && object.get("status").is_some() {
            metadata::set_text(&mut object, "resourceVersion", metadata::text(&replaced, "resourceVersion"));
            replaced = self.ask(state, kind, "PUT", &format!("{name}/status"), &object)?;
        }
        Ok(replaced)
    }

    /// Writes a new object with the status and the history that it was given.
    fn put(&self, state: &mut State, kind: &Kind, mut object: Value) -> Result<Value, Failure> {
        metadata::of(&mut object).remove("resourceVersion");
        let mut value = self.ask(state, kind, "POST", "?dryRun=All", &object)?;
        // The server reads the status, but does not take it over.
        decode::conform(&mut object, kind, Nulls::Pruned)
            .map_err(|why| Failure::bad_request(decode::cannot_be_handled(kind, &why)))?;
        if let Some(status) = object.get("status").filter(|_| has_given_status(kind)) {
            merge(&mut value["status"], status);
        }
        let given = object["metadata"].as_object().into_iter().flatten();
        for (field, given) in
            given.filter(|(field, value)| KEPT.contains(&field.as_str()) && !value.is_null())
        {
            metadata::of(&mut value).insert(field.clone(), given.clone());
        }
        if value["metadata"]["deletionTimestamp"].is_string() && verbs::is_done(kind, &value) {
            let why = "an object with a `deletionTimestamp` and without finalizers would be gone";
            return Err(Failure::bad_request(why));
        }
        let causes = verbs::validate(kind, &value, None, Part::Whole);
        if !causes.is_empty() {
            return Err(Failure::invalid(kind, metadata::text(&value, "name"), &causes));
        }
        let uid = metadata::text(&value, "uid");
        if let Some((resource, key)) = state.place_of(uid) {
            return Err(Failure::bad_request(format!("the uid {uid:?} is that of {resource} {key:?}")));
        }
        let written = state.put(kind, value);
        verbs::after_write(state, &self.shared().clock, kind, &written);
        // A CRD is established by then, and an object that was deleted may be gone.
        let now = state.get(kind, &written.namespace, &written.name);
        Ok(now.unwrap_or(written).value(kind))
    }

    /// Sends a request to the server, whose state is locked already.
    fn ask(
        &self,
        state: &mut State,
        kind: &Kind,
        method: &str,
        rest: &str,
        object: &Value,
    ) -> Result<Value, Failure> {
        let root = if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
        let namespace = match metadata::text(object, "namespace") {
            "" => String::new(),
            namespace => format!("/namespaces/{namespace}"),
        };
        let separator = if rest.starts_with('?') { "" } else { "/" };
        let query = if rest.starts_with('?') { '&' } else { '?' };
        let uri = format!(
            "{root}/{}{namespace}/{}{separator}{rest}{query}fieldManager={MANAGER}&fieldValidation=Strict",
            kind.version, kind.plural
        );
        let request = http::Request::builder()
            .method(method)
            .uri(uri)
            .body(Bytes::from(object.to_string()))
            .map_err(|error| Failure::bad_request(error.to_string()))?;
        let request = Request::new(request);
        let (crate::request::Path::Resource(path), Some(kind)) =
            (&request.path, state.kinds.get(&kind.group, &kind.version, &kind.plural))
        else {
            return Err(Failure::no_such_path());
        };
        let mut warnings = Vec::new();
        let mut call =
            Call { server: self.shared(), state, request: &request, kind, path, warnings: &mut warnings };
        match verbs::dispatch(&mut call)?.1 {
            Reply::Stored(_, object) => Ok(object.value(&call.kind)),
            Reply::Object(_, value) | Reply::Plain(_, value) => Ok(value),
            Reply::List(_) | Reply::Watch(_) => Err(Failure::no_such_path()),
        }
    }
}

/// Whether an object has the status that it is loaded with: that of a CRD and of a namespace is the server's.
fn has_given_status(kind: &Kind) -> bool {
    !kind.is("apiextensions.k8s.io", "CustomResourceDefinition") && !kind.is("", "Namespace")
}

/// Lays a status over the one that the server made.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            into.extend(from.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        (into, from) => *into = from.clone(),
    }
}
