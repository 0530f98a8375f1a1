//! Asks a real API server and this crate the same questions.

pub mod objects;
pub mod random;
pub mod schemas;
pub mod updates;

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use genclient_fake::schema::StructuralSchema;
use genclient_tally::Tally;
use http::{Request, StatusCode};
use kube::{Client, client::Body};
use serde_json::{Value, json};

/// One schema of `spec`, and what is asked about it.
pub struct Case<Q> {
    pub name: &'static str,
    pub spec: Value,
    pub questions: Vec<Q>,
}

/// What somebody answers.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// The object after pruning and defaulting, without its metadata, and the paths of its unknown fields.
    Accepted(Value, Vec<String>),
    /// The causes, as reason, field and message. The server gives those of the fields of an object in random order.
    Refused(BTreeSet<(String, String, String)>),
}

const GROUP: &str = "parity.example.com";
static NEXT: AtomicUsize = AtomicUsize::new(0);

pub struct Server {
    client: Client,
    /// What the server answered.
    pub tally: Tally,
}

/// A kind that exists on the server.
struct Kind {
    plural: String,
    name: String,
}

/// The schema of a kind whose `spec` is of the given one.
pub fn whole(spec: &Value) -> Value {
    json!({ "type": "object", "properties": { "spec": spec } })
}

fn causes_of(
    schema: &StructuralSchema,
    new: &Value,
    old: Option<&Value>,
) -> BTreeSet<(String, String, String)> {
    let causes = schema.validate(new, old);
    causes.into_iter().map(|cause| (cause.reason.to_owned(), cause.field, cause.message)).collect()
}

/// What this crate answers.
fn ours(schema: &StructuralSchema, object: &Value, old: Option<&Value>) -> Answer {
    let mut object = object.clone();
    let unknown = schema.prune(&mut object);
    schema.apply_defaults(&mut object);
    let causes = causes_of(schema, &object, old);
    if causes.is_empty() { Answer::Accepted(strip(object), unknown) } else { Answer::Refused(causes) }
}

/// An object without what the server adds.
fn strip(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| name == "spec");
    }
    normalize(&mut object);
    object
}

/// Writes 1.0 as 1, as the server does.
fn normalize(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(normalize),
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|float| *float == float.trunc() && float.abs() < 1e15)
            {
                #[expect(clippy::cast_possible_truncation, reason = "it was found to be an integer in range")]
                let integer = float as i64;
                *value = integer.into();
            }
        }
        _ => {}
    }
}

/// The server gives the types of objects names with random numbers.
fn without_numbers(message: &str) -> String {
    let mut parts = message.split("selfType");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let rest = &part[end..];
        result.push_str("object");
        result.push_str(rest);
    }
    result
}

fn refused(status: &Value) -> Answer {
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    if causes.is_empty() {
        return Answer::Refused([(String::new(), String::new(), text(status, "message"))].into());
    }
    let causes = causes
        .iter()
        .map(|cause| (text(cause, "reason"), text(cause, "field"), without_numbers(&text(cause, "message"))));
    Answer::Refused(causes.collect())
}

impl Server {
    pub fn new(client: Client) -> Self {
        Self { client, tally: Tally::new() }
    }

    /// Counts an answer of the server, and the reasons of a refusal.
    fn count(&self, answer: &Answer, sent: &Value) {
        match answer {
            Answer::Accepted(_, unknown) if !unknown.is_empty() => self.tally.count("accepted and pruned"),
            Answer::Accepted(stored, _) if *stored != strip(sent.clone()) => {
                self.tally.count("accepted and defaulted");
            }
            Answer::Accepted(..) => self.tally.count("accepted"),
            Answer::Refused(causes) => {
                self.tally.count("refused");
                let reasons: BTreeSet<_> = causes.iter().map(|(reason, ..)| reason.as_str()).collect();
                reasons.into_iter().for_each(|reason| self.tally.count(reason));
            }
        }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(Body::from(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect_bytes().await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    fn crd(plural: &str, kind: &str, schema: &Value) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{GROUP}") },
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List") },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
            },
        })
    }

    /// Creates a CRD and waits until its objects can be created, or gives the causes why it is refused.
    async fn create_kind(&self, schema: &Value) -> Result<Kind, Answer> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("K{}x{number}", std::process::id());
        let plural = format!("{}s", name.to_lowercase());
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (status, answer) = self.send("POST", crds, &Self::crd(&plural, &name, schema)).await;
        if !status.is_success() {
            return Err(refused(&answer));
        }
        let kind = Kind { plural, name };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.send("GET", &kind.path(), &Value::Null).await.0.is_success() {
            assert!(Instant::now() < deadline, "the CRD is not served");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(kind)
    }

    async fn delete_kind(&self, kind: &Kind) {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{GROUP}", kind.plural);
        self.send("DELETE", &path, &Value::Null).await;
    }

    /// What the server answers to the creation of an object.
    async fn create(&self, kind: &Kind, object: &Value) -> Answer {
        let path = kind.path();
        let (status, answer) =
            self.send("POST", &format!("{path}?dryRun=All&fieldValidation=Ignore"), object).await;
        if !status.is_success() {
            return refused(&answer);
        }
        let (status, strict) =
            self.send("POST", &format!("{path}?dryRun=All&fieldValidation=Strict"), object).await;
        let message = strict["message"].as_str().unwrap_or_default();
        let unknown = if status.is_success() { Vec::new() } else { unknown_fields(message) };
        Answer::Accepted(strip(answer), unknown)
    }

    /// Compares the answers to the creation of objects; each difference is told in a few lines.
    pub async fn compare_objects(&self, cases: Vec<Case<Value>>) -> Vec<String> {
        let compare = |case: Case<Value>| async move {
            let mut differences = Vec::new();
            let schema = whole(&case.spec);
            let kind = match self.create_kind(&schema).await {
                Ok(kind) => kind,
                Err(answer) => {
                    return vec![format!("{}: the server refuses the schema: {answer:?}", case.name)];
                }
            };
            let schema = match StructuralSchema::new(&schema) {
                Ok(schema) => schema,
                Err(errors) => return vec![format!("{}: we refuse the schema: {errors}", case.name)],
            };
            for (i, spec) in case.questions.into_iter().enumerate() {
                let object = kind.object(&format!("x{i}"), spec);
                let (theirs, ours) = (self.create(&kind, &object).await, ours(&schema, &object, None));
                self.count(&theirs, &object);
                if theirs != ours {
                    let spec = &object["spec"];
                    differences
                        .push(format!("{}: {spec}\n  server: {theirs:?}\n  we:     {ours:?}", case.name));
                }
            }
            self.delete_kind(&kind).await;
            differences
        };
        stream::iter(cases).map(compare).buffer_unordered(8).collect::<Vec<_>>().await.concat()
    }

    /// Compares the answers to updates. Old objects are created while the schema accepts everything.
    pub async fn compare_updates(&self, cases: Vec<Case<(Value, Value)>>) -> Vec<String> {
        let anything = whole(&json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }));
        let anything = &anything;
        let compare = |case: Case<(Value, Value)>| async move {
            let mut differences = Vec::new();
            let kind = self.create_kind(anything).await.unwrap_or_else(|answer| panic!("{answer:?}"));
            let mut olds = Vec::new();
            for (i, (old, _)) in case.questions.iter().enumerate() {
                let object = kind.object(&format!("x{i}"), old.clone());
                let (status, old) = self.send("POST", &kind.path(), &object).await;
                assert!(status.is_success(), "{old}");
                olds.push(old);
            }
            let schema = whole(&case.spec);
            let path =
                format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{GROUP}", kind.plural);
            let (_, mut crd) = self.send("GET", &path, &Value::Null).await;
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema.clone();
            let (status, answer) = self.send("PUT", &path, &crd).await;
            assert!(status.is_success(), "{}: {answer}", case.name);
            let schema = StructuralSchema::new(&schema).unwrap();
            for ((_, new), old) in case.questions.iter().zip(&olds) {
                let mut object = old.clone();
                object["spec"] = new.clone();
                let ours = ours(
                    &schema,
                    &object,
                    Some(&{
                        let mut old = old.clone();
                        schema.prune(&mut old);
                        schema.apply_defaults(&mut old);
                        old
                    }),
                );
                // The new schema is served a moment after it was accepted.
                let deadline = Instant::now() + Duration::from_secs(10);
                let name = old["metadata"]["name"].as_str().unwrap_or_default();
                let url = format!("{}/{name}?dryRun=All&fieldValidation=Ignore", kind.path());
                let theirs = loop {
                    let (status, answer) = self.send("PUT", &url, &object).await;
                    let theirs = if status.is_success() {
                        Answer::Accepted(strip(answer), unknown_of(&ours))
                    } else {
                        refused(&answer)
                    };
                    if theirs == ours || Instant::now() > deadline {
                        break theirs;
                    }
                    tokio::time::sleep(Duration::from_millis(200)).await;
                };
                self.count(&theirs, &object);
                if theirs != ours {
                    let (old, new) = (&old["spec"], &object["spec"]);
                    differences.push(format!(
                        "{}: {old} -> {new}\n  server: {theirs:?}\n  we:     {ours:?}",
                        case.name
                    ));
                }
            }
            self.delete_kind(&kind).await;
            differences
        };
        stream::iter(cases).map(compare).buffer_unordered(8).collect::<Vec<_>>().await.concat()
    }

    /// Compares whether schemas are accepted, and why not.
    pub async fn compare_schemas(&self, cases: Vec<Case<()>>) -> Vec<String> {
        let compare = |case: Case<()>| async move {
            let schema = case.spec;
            let theirs = match self.create_kind(&schema).await {
                Ok(kind) => {
                    self.tally.count("accepted");
                    self.delete_kind(&kind).await;
                    None
                }
                Err(answer) => {
                    self.count(&answer, &schema);
                    Some(answer)
                }
            };
            let ours = StructuralSchema::new(&schema).err().map(|errors| {
                let causes = errors.causes.into_iter();
                Answer::Refused(
                    causes.map(|cause| (cause.reason.to_owned(), cause.field, cause.message)).collect(),
                )
            });
            if theirs == ours {
                return Vec::new();
            }
            vec![format!("{}: {schema}\n  server: {theirs:?}\n  we:     {ours:?}", case.name)]
        };
        stream::iter(cases).map(compare).buffer_unordered(8).collect::<Vec<_>>().await.concat()
    }
}

fn unknown_of(answer: &Answer) -> Vec<String> {
    match answer {
        Answer::Accepted(_, unknown) => unknown.clone(),
        Answer::Refused(_) => Vec::new(),
    }
}

/// The paths in `strict decoding error: unknown field "spec.a", unknown field "spec.b"`.
fn unknown_fields(message: &str) -> Vec<String> {
    message
        .split("unknown field \"")
        .skip(1)
        .filter_map(|part| Some(part.split_once('"')?.0.to_owned()))
        .collect()
}

impl Kind {
    fn path(&self) -> String {
        format!("/apis/{GROUP}/v1/namespaces/default/{}", self.plural)
    }

    fn object(&self, name: &str, spec: Value) -> Value {
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": self.name,
            "metadata": { "name": name },
            "spec": spec,
        })
    }
}
