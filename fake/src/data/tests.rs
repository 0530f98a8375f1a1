//! Files that are cut, damaged, full, or not ours.

use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    sync::{Arc, atomic::AtomicU32, atomic::Ordering::SeqCst},
};

use bytes::Bytes;
use genclient_tally::Tally;
use http::{Method, Request};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use super::{
    Contents, Data, DataError, HEADER,
    disk::{Disk, ReplaceError},
};
use crate::Server;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn send(server: &Server, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let response = server.respond(request.body(bytes).unwrap());
    let code = response.status().as_u16();
    (code, serde_json::from_slice(response.into_body().bytes().expect("no watch")).unwrap())
}

fn create(server: &Server, name: &str) -> (u16, Value) {
    let map = json!({ "metadata": { "name": name }, "data": { "key": "ä value" } });
    send(server, Method::POST, MAPS, &map)
}

fn names(server: &Server) -> Vec<String> {
    let (_, list) = send(server, Method::GET, MAPS, &Value::Null);
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

fn open(path: &Path) -> Result<Server, DataError> {
    Server::builder().data(path).try_build()
}

/// A file with some objects, and the names of those that each record brought.
fn example(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("data");
    let server = open(&path).unwrap();
    for name in ["a", "b", "c"] {
        assert_eq!(create(&server, name).0, 201);
    }
    assert_eq!(send(&server, Method::DELETE, &format!("{MAPS}/b"), &Value::Null).0, 200);
    path
}

#[test]
fn a_file_that_is_cut_anywhere_loads_what_was_complete_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = example(folder.path());
    let whole = fs::read(&path).unwrap();
    let snapshot_end =
        HEADER.len() + whole[HEADER.len()..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let states: [&[&str]; 5] = [&[], &["a"], &["a", "b"], &["a", "b", "c"], &["a", "c"]];
    let mut seen = BTreeSet::new();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let opened = open(&path);
        let text = || opened.as_ref().unwrap_err().to_string();
        if length == 0 {
            assert_eq!(names(&opened.unwrap()), [""; 0], "an empty file is a new one");
        } else if length < HEADER.len() {
            assert!(text().contains("is not a data file"), "{length}: {}", text());
        } else if length < snapshot_end {
            assert!(text().contains("the snapshot is not complete"), "{length}: {}", text());
        } else {
            let records = whole[snapshot_end..length].iter().filter(|byte| **byte == b'\n').count();
            let server = opened.unwrap();
            assert_eq!(names(&server), states[records], "{length}");
            seen.insert(records);
            // What is written now is not lost behind the part that was cut off.
            if length % 16 == 0 {
                assert_eq!(create(&server, "later").0, 201);
                drop(server);
                assert!(names(&open(&path).unwrap()).contains(&"later".to_owned()), "{length}");
            }
        }
        if (1..snapshot_end).contains(&length) {
            assert_eq!(fs::read(&path).unwrap(), &whole[..length], "what is refused is left as it is");
        }
    }
    assert_eq!(seen.len(), states.len());
}

#[test]
fn every_damaged_bit_is_reported_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = example(folder.path());
    let whole = fs::read(&path).unwrap();
    let damaged = |bit: usize| {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    };
    for bit in 0..whole.len() * 8 {
        let contents = Contents { bytes: damaged(bit), path: path.clone() };
        let read = contents.read(|_| Ok(()), |(), _| Ok(()));
        let text = read.expect_err("the damage is noticed").to_string();
        if bit / 8 < HEADER.len() {
            assert!(text.contains("is not a data file") || text.contains("has format"), "{bit}: {text}");
        } else {
            let line = whole[..bit / 8].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
            let place = format!("is damaged at byte {line}: ");
            assert!(text.contains(&place) && text.contains(path.to_str().unwrap()), "{bit}: {text}");
            let advice = if line == HEADER.len() { "restore it from a copy" } else { "truncate --size=" };
            assert!(text.contains(advice), "{bit}: {text}");
        }
    }
    // So says the server, and leaves the file as it is.
    for bit in (0..whole.len() * 8).step_by(501) {
        fs::write(&path, damaged(bit)).unwrap();
        assert!(open(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), damaged(bit));
    }
}

#[test]
fn the_advice_for_a_damaged_file_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = example(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.len() - 100;
    bytes[place] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let Err(DataError::Damaged { offset, .. }) = open(&path) else { panic!("it is damaged") };
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(offset).unwrap();
    assert_eq!(names(&open(&path).unwrap()), ["a", "b", "c"]);
}

#[test]
fn zeros_that_a_loss_of_power_left_at_the_end_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = example(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes.extend([0; 4096]);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(names(&open(&path).unwrap()), ["a", "c"]);
    assert_eq!(fs::metadata(&path).unwrap().len(), length as u64);
}

#[test]
fn no_contents_make_it_panic() {
    let tally = Tally::new();
    let folder = tempfile::tempdir().unwrap();
    let path = example(folder.path());
    let valid = fs::read(&path).unwrap();
    // Noise after nothing, after the header, and in the middle of a valid file.
    let noise = (proptest::collection::vec(any::<u8>(), 1..300), 0..3, any::<prop::sample::Index>());
    let config = ProptestConfig { cases: 256, ..ProptestConfig::with_source_file(file!()) };
    let tried = TestRunner::new(config).run(&noise, |(noise, start, place)| {
        let bytes = match start {
            0 => noise,
            1 => [HEADER.as_bytes(), &noise].concat(),
            _ => {
                let mut bytes = valid.clone();
                let place = HEADER.len() + place.index(bytes.len() - HEADER.len());
                let end = (place + noise.len()).min(bytes.len());
                bytes.splice(place..end, noise);
                bytes
            }
        };
        fs::write(&path, &bytes).unwrap();
        match open(&path) {
            Err(error) => {
                tally.count(match error {
                    DataError::Damaged { in_snapshot: true, .. } => "damaged snapshot",
                    DataError::Damaged { .. } => "damaged record",
                    DataError::NotOurs { .. } => "not a data file",
                    _ => "other error",
                });
                prop_assert_eq!(fs::read(&path).unwrap(), bytes);
            }
            Ok(server) => {
                tally.count("read up to the noise");
                let names = names(&server);
                prop_assert!(names.iter().all(|name| ["a", "b", "c"].contains(&name.as_str())), "{names:?}");
            }
        }
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
    tally.require(&[("not a data file", 20), ("damaged snapshot", 40), ("damaged record", 8)]);
}

#[test]
fn what_is_not_ours_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    for (contents, said) in [
        ("apiVersion: v1\nkind: Config\n", "is not a data file of genclient-fake"),
        ("\n", "is not a data file of genclient-fake"),
        ("genclient-fake data, format 2\nwhatever", "has format 2, and this version"),
        ("genclient-fake data, format two\n", "is not a data file of genclient-fake"),
        ("genclient-fake data, format 1\n", "the snapshot is not complete"),
    ] {
        fs::write(&path, contents).unwrap();
        let text = open(&path).unwrap_err().to_string();
        assert!(text.contains(said), "{contents:?}: {text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), contents);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(open(&path).unwrap_err().to_string().contains("cannot open the data file"));
    let text = open(&folder.path().join("lost/data")).unwrap_err().to_string();
    assert!(text.contains("cannot find the folder of the data file"), "{text}");
}

#[test]
fn one_server_uses_a_file_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let server = open(&path).unwrap();
    let text = open(&path).unwrap_err().to_string();
    assert!(text.contains(&format!("is in use by process {}", std::process::id())), "{text}");
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(open(&link), Err(DataError::InUse { .. })), "a link is the same file");
    }
    // Neither does the replacement of the file let anybody in.
    server.compact();
    assert!(matches!(open(&path), Err(DataError::InUse { .. })));
    drop(server);
    open(&path).unwrap();
}

/// A disk on which some calls fail.
#[derive(Debug)]
struct Broken {
    inner: Box<dyn Disk>,
    faults: Arc<Faults>,
}

#[derive(Debug, Default)]
struct Faults {
    /// How many of the next appends write half and fail.
    append: AtomicU32,
    sync: AtomicU32,
    truncate: AtomicU32,
    replace: AtomicU32,
}

fn fails(faults: &AtomicU32) -> bool {
    faults.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn full() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

impl Disk for Broken {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if fails(&self.faults.append) {
            self.inner.append(&bytes[..bytes.len() / 2])?;
            return Err(full());
        }
        self.inner.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        if fails(&self.faults.sync) { Err(full()) } else { self.inner.sync() }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        if fails(&self.faults.truncate) { Err(full()) } else { self.inner.truncate(length) }
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), ReplaceError> {
        if fails(&self.faults.replace) {
            return Err(ReplaceError::Before(full()));
        }
        self.inner.replace(bytes)
    }
}

/// A server with a file on a disk whose calls can be made to fail.
fn on_broken_disk(path: &Path) -> (Server, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    let server = open(path).unwrap();
    let given = faults.clone();
    server.with_data(|data: Data| data.with_disk(|inner| Box::new(Broken { inner, faults: given })));
    (server, faults)
}

/// Everything that a server has, as bytes.
fn everything(server: &Server) -> String {
    let lists =
        ["/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/pods", "/apis/shop.example.com/v1/orders"];
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut all = String::new();
    for path in lists.into_iter().chain([crds, "/apis"]) {
        let request = Request::builder().uri(path).body(Bytes::new()).unwrap();
        let body = server.respond(request).into_body();
        all += &String::from_utf8_lossy(body.bytes().expect("no watch"));
    }
    all
}

#[test]
fn a_write_that_the_disk_does_not_take_is_refused_and_undone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let (server, faults) = on_broken_disk(&path);
    assert_eq!(create(&server, "a").0, 201);
    let before = everything(&server);

    faults.append.store(1, SeqCst);
    let (code, status) = create(&server, "b");
    assert_eq!((code, &status["reason"]), (500, &json!("InternalError")), "{status}");
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("cannot write to the data file") && message.contains("data`"), "{message}");
    assert_eq!(everything(&server), before, "neither the object nor its version is there");

    // There is room again.
    assert_eq!(create(&server, "c").0, 201);
    drop(server);
    assert_eq!(names(&open(&path).unwrap()), ["a", "c"]);
}

#[test]
fn a_refused_write_takes_all_its_consequences_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let (server, faults) = on_broken_disk(&path);
    let crd = json!({
        "metadata": { "name": "orders.shop.example.com" },
        "spec": {
            "group": "shop.example.com",
            "names": { "plural": "orders", "kind": "Order" },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            } } }],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let orders = "/apis/shop.example.com/v1/namespaces/shop/orders";

    // A CRD: its kinds are not served.
    let before = everything(&server);
    faults.append.store(1, SeqCst);
    assert_eq!(send(&server, Method::POST, crds, &crd).0, 500);
    assert_eq!(everything(&server), before);
    assert_eq!(send(&server, Method::POST, crds, &crd).0, 201);

    // A namespace with content, an owner with a dependent: everything stays.
    let namespace = json!({ "metadata": { "name": "shop" } });
    assert_eq!(send(&server, Method::POST, "/api/v1/namespaces", &namespace).0, 201);
    let order =
        json!({ "apiVersion": "shop.example.com/v1", "kind": "Order", "metadata": { "name": "order" } });
    let (code, order) = send(&server, Method::POST, orders, &order);
    assert_eq!(code, 201, "{order}");
    let owner =
        json!({ "apiVersion": "v1", "kind": "Order", "name": "order", "uid": order["metadata"]["uid"] });
    let map = json!({ "metadata": { "name": "map", "ownerReferences": [owner] } });
    assert_eq!(send(&server, Method::POST, "/api/v1/namespaces/shop/configmaps", &map).0, 201);
    let before = everything(&server);
    for path in
        ["/api/v1/namespaces/shop", &format!("{orders}/order"), &format!("{crds}/orders.shop.example.com")]
    {
        faults.append.store(1, SeqCst);
        assert_eq!(send(&server, Method::DELETE, path, &Value::Null).0, 500);
        assert_eq!(everything(&server), before, "{path}");
    }
    // It was not only the lists: the owner still takes its dependent with it.
    assert_eq!(send(&server, Method::DELETE, &format!("{orders}/order"), &Value::Null).0, 200);
    assert_eq!(send(&server, Method::GET, "/api/v1/namespaces/shop/configmaps/map", &Value::Null).0, 404);
    let before = everything(&server);
    drop(server);
    assert_eq!(everything(&open(&path).unwrap()), before);
}

#[test]
fn after_an_unknown_outcome_all_writes_are_refused_until_a_restart() {
    for case in ["the flush fails", "the half record cannot be removed"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let (server, faults) = on_broken_disk(&path);
        assert_eq!(create(&server, "a").0, 201);
        if case == "the flush fails" {
            faults.sync.store(1, SeqCst);
        } else {
            faults.append.store(1, SeqCst);
            faults.truncate.store(1, SeqCst);
        }
        let before = everything(&server);
        assert_eq!(create(&server, "b").0, 500, "{case}");
        let (code, status) = create(&server, "c");
        let message = status["message"].as_str().unwrap();
        assert!(
            code == 500 && message.contains("nothing more is written until the server is restarted"),
            "{message}"
        );
        assert_eq!(everything(&server), before, "{case}: reads go on");
        drop(server);
        let server = open(&path).unwrap();
        assert_eq!(names(&server), ["a"], "{case}");
        assert_eq!(create(&server, "c").0, 201, "{case}");
    }
}

#[test]
fn a_file_that_cannot_be_shortened_goes_on_growing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let (server, faults) = on_broken_disk(&path);
    faults.replace.store(1, SeqCst);
    let large = "x".repeat(300_000);
    assert_eq!(create(&server, "a").0, 201);
    let mut lengths = Vec::new();
    for number in 0..12 {
        let map = json!({ "metadata": { "name": "a" }, "data": { "key": format!("{large}{number}") } });
        assert_eq!(send(&server, Method::PUT, &format!("{MAPS}/a"), &map).0, 200);
        lengths.push(fs::metadata(&path).unwrap().len());
    }
    assert_eq!(faults.replace.load(SeqCst), 0, "it was tried");
    assert!(lengths.iter().max().unwrap() > &1_500_000, "{lengths:?}");
    assert!(lengths.windows(2).any(|pair| pair[1] < pair[0]), "the next attempt succeeded: {lengths:?}");
    let before = everything(&server);
    drop(server);
    assert_eq!(everything(&open(&path).unwrap()), before);
}
