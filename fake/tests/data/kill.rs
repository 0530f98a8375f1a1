//! Processes that are killed at random moments while they write as fast as they can.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use genclient_fake::Server;
use genclient_tally::Tally;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{say, spawn, support::Requests};

const NAMESPACES: &str = "/api/v1/namespaces";

/// A request of a child.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Operation {
    /// Creates or replaces an object.
    Put { path: String, body: Value, create: bool },
    /// Deletes an object, and with it all objects below its path and those that it owns.
    Delete { path: String, with: Vec<String> },
}

/// What a child says.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    Begun(Operation),
    /// The request was answered so.
    Done(Value),
}

impl Operation {
    /// The name under which it is counted.
    fn name(&self) -> &'static str {
        let is_map = |path: &str| path.contains("/configmaps/");
        match self {
            Self::Put { path, create: true, .. } if is_map(path) => "create",
            Self::Put { create: true, .. } => "create a namespace",
            Self::Put { .. } => "replace",
            Self::Delete { path, with } if is_map(path) && with.is_empty() => "delete",
            Self::Delete { path, .. } if is_map(path) => "delete an owner",
            Self::Delete { .. } => "delete a namespace",
        }
    }
}

/// The objects that must be there, by their paths.
type Model = BTreeMap<String, Value>;

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Chooses a request. `number` tells it from all others.
fn choose(model: &Model, number: u64) -> Operation {
    let mut random = rand::rng();
    let namespace = format!("{NAMESPACES}/n{}", random.random_range(0..3));
    let path = format!("{namespace}/configmaps/{}", random.random_range(0..8));
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let Some(_) = model.get(&namespace) else {
        let body = json!({ "metadata": { "name": name(&namespace) } });
        return Operation::Put { path: namespace, body, create: true };
    };
    let below = |prefix: &str| {
        let prefix = format!("{prefix}/");
        model.keys().filter(|path| path.starts_with(&prefix)).cloned().collect::<Vec<_>>()
    };
    let roll = random.random_range(0..100);
    if roll < 2 {
        return Operation::Delete { with: below(&namespace), path: namespace };
    }
    match model.get(&path) {
        Some(found) if roll < 25 => {
            let owned = model.iter().filter(|(_, object)| {
                object["metadata"]["ownerReferences"][0]["uid"].as_str() == Some(uid(found))
            });
            Operation::Delete { with: owned.map(|(path, _)| path.clone()).collect(), path }
        }
        found => {
            let mut body = json!({
                "metadata": { "name": name(&path) },
                "data": { "number": number.to_string(), "much": "x".repeat(random.random_range(0..100_000)) },
            });
            if let Some(found) = found {
                body["metadata"]["ownerReferences"] = found["metadata"]["ownerReferences"].clone();
            } else if let Some((owner, object)) = model.iter().find(|(path, object)| {
                path.starts_with(&format!("{namespace}/")) && object["metadata"]["ownerReferences"].is_null()
            }) {
                let (name, uid) = (name(owner), uid(object));
                let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid });
                body["metadata"]["ownerReferences"] = json!([owner]);
            }
            Operation::Put { create: found.is_none(), path, body }
        }
    }
}

/// Sends a request, which must succeed, and returns its answer.
fn carry_out(server: &Server, operation: &Operation) -> Value {
    let (code, answer) = match operation {
        Operation::Put { path, body, create: false } => server.put(path, body),
        Operation::Put { path, body, create: true } => {
            server.post(path.rsplit_once('/').unwrap().0, body.clone())
        }
        Operation::Delete { path, .. } => server.delete(path),
    };
    assert!(code < 300, "{code} {answer} after {operation:?}");
    answer
}

/// Changes the model as a request does that was answered so.
fn follow(model: &mut Model, operation: Operation, answer: Value) {
    match operation {
        Operation::Put { path, .. } => drop(model.insert(path, answer)),
        Operation::Delete { path, with } => {
            model.remove(&path);
            with.iter().for_each(|path| drop(model.remove(path)));
        }
    }
}

/// Returns all that a server has of what the children write.
fn read(server: &Server) -> Model {
    let mut model = Model::new();
    for (list, kind) in [(NAMESPACES, "Namespace"), ("/api/v1/configmaps", "ConfigMap")] {
        for mut object in server.get(list).1["items"].as_array().unwrap().clone() {
            object["apiVersion"] = "v1".into();
            object["kind"] = kind.into();
            let metadata = &object["metadata"];
            let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
            let path = match text("namespace").as_str() {
                "" => format!("{NAMESPACES}/{}", text("name")),
                namespace => format!("{NAMESPACES}/{namespace}/configmaps/{}", text("name")),
            };
            assert!(model.insert(path, object).is_none(), "an object is there twice");
        }
    }
    model.retain(|path, _| path.starts_with(&format!("{NAMESPACES}/n")));
    model
}

#[test]
#[ignore = "a process of another test"]
fn child() {
    let data = PathBuf::from(std::env::var_os("DATA").expect("another test starts this one"));
    let server = Server::builder().data(data).try_build().unwrap();
    let mut model = read(&server);
    for number in 0.. {
        let operation = choose(&model, number);
        say(&serde_json::to_string(&Said::Begun(operation.clone())).unwrap());
        let answer = carry_out(&server, &operation);
        say(&serde_json::to_string(&Said::Done(answer.clone())).unwrap());
        follow(&mut model, operation, answer);
    }
}

/// Checks that a file has what was answered, and of the last request without an answer all or nothing.
fn check(path: &Path, model: Model, last: Option<&Operation>) -> (Model, u64) {
    let server = Server::builder().data(path).try_build().unwrap();
    let found = read(&server);
    let version = server.get(NAMESPACES).1["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    if found != model {
        let mut expected = model;
        let operation = last.expect("only a request without an answer can make a difference").clone();
        let answer = match &operation {
            Operation::Put { path, body, .. } => {
                let answer = found.get(path).unwrap_or_else(|| panic!("{path} is gone")).clone();
                assert_eq!(answer["data"]["number"], body["data"]["number"], "it is the request's");
                answer
            }
            Operation::Delete { .. } => Value::Null,
        };
        follow(&mut expected, operation, answer);
        // Whole objects are long; their names are enough to find out what is wrong.
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        assert!(found == expected, "an object differs");
    }
    (found, version)
}

/// How often each request must have been answered, or have had no answer.
const FLOORS: [(&str, usize); 8] = [
    ("create", 20),
    ("create a namespace", 2),
    ("replace", 20),
    ("delete", 5),
    ("delete an owner", 1),
    ("delete a namespace", 1),
    ("request without an answer", 3),
    ("request without an answer and effect", 3),
];

#[test]
fn a_process_that_is_killed_loses_nothing_that_it_has_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let kills = genclient_tally::usual_or_long(50, 500);
    let tally = Tally::new();
    let (mut model, mut version) = (Model::new(), 0);
    // On a slow machine few requests are answered before each kill, so there are more kills.
    let enough = |tally: &Tally| FLOORS.iter().all(|(name, floor)| tally.of(name) >= *floor);
    for round in 0..4 * kills {
        if round >= kills && enough(&tally) {
            break;
        }
        let (mut child, lines) = spawn(Command::new(std::env::current_exe().unwrap()), "kill::child", &path);
        let mut said = vec![lines.recv_timeout(Duration::from_secs(60)).expect("the child writes")];
        std::thread::sleep(Duration::from_micros(rand::rng().random_range(0..150_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        said.extend(lines);
        let mut last = None;
        for line in said {
            match serde_json::from_str(&line).unwrap() {
                Said::Begun(operation) => last = Some(operation),
                Said::Done(answer) => {
                    let number: u64 = answer["metadata"]["resourceVersion"]
                        .as_str()
                        .map_or(0, |text| text.parse().unwrap());
                    assert!(
                        number == 0 || number > version,
                        "versions never go back: {number} after {version}"
                    );
                    version = version.max(number);
                    let operation = last.take().unwrap();
                    tally.count(operation.name());
                    follow(&mut model, operation, answer);
                }
            }
        }
        let answered = model.clone();
        let (found, newest) = check(&path, model, last.as_ref());
        tally.count(match last {
            None => "no request without an answer",
            Some(_) if found == answered => "request without an answer and effect",
            Some(_) => "request without an answer",
        });
        assert!(newest >= version, "versions never go back: {newest} after {version}");
        (model, version) = (found, newest);
    }
    tally.require(&FLOORS);
}
