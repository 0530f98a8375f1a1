//! What the file costs.

use std::time::Instant;

use genclient_fake::Server;

use crate::support::{CONFIG_MAPS, Requests, config_map};

#[test]
#[ignore = "it prints figures: `cargo test --test data cost -- --ignored --nocapture`"]
fn cost() {
    const OBJECTS: u32 = 500;
    let write = |server: &Server| {
        let began = Instant::now();
        for number in 0..OBJECTS {
            server.create(CONFIG_MAPS, config_map(&format!("map-{number}")));
        }
        began.elapsed() / OBJECTS
    };
    let folder = tempfile::tempdir_in(".").unwrap();
    let path = folder.path().join("data");
    let memory = write(&Server::new());
    let file = write(&Server::builder().data(&path).try_build().unwrap());
    let size = std::fs::metadata(&path).unwrap().len();
    let began = Instant::now();
    let server = Server::builder().data(&path).try_build().unwrap();
    let opened = began.elapsed();
    let began = Instant::now();
    server.compact();
    let compacted = began.elapsed();
    println!(
        "a write: {memory:?} in memory, {file:?} with a file; {OBJECTS} objects in {size} bytes: opened in \
         {opened:?}, replaced by a snapshot in {compacted:?}"
    );
}
