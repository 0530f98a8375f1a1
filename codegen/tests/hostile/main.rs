//! No client is ever of the wrong kind: hundreds of small crates, written to be read wrongly, are either
//! refused with a file and a line, or their clients compile and every generated method makes the
//! request of the kind that it is called after.
//!
//! What a client must do is known to whoever wrote the crate ([`kind`]) and read back from a program
//! that calls every method ([`workspace`]). `GENCLIENT_LONG=1` makes many more crates.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

mod kind;
mod krate;
mod random;
mod workspace;
mod written;

use std::collections::BTreeMap;

use genclient_tally::Tally;
use krate::{Crate, Verdict};
use workspace::{Requests, Workspace};

#[test]
fn every_crate_is_refused_or_its_client_makes_the_right_requests() {
    let mut crates = written::crates();
    crates.extend((0..genclient_tally::usual_or_long(120, 1_000)).map(random::krate));
    for (number, krate) in crates.iter_mut().enumerate() {
        krate.name = format!("c{number:04}");
    }
    assert!(crates.len() >= 200, "only {} crates", crates.len());

    let workspace = Workspace::new();
    let mut wrong = Vec::new();
    let mut clients: Vec<(&Crate, BTreeMap<String, String>)> = Vec::new();
    let tally = Tally::new();
    for krate in &crates {
        let generated = workspace.generate(krate);
        tally.count(match (krate.verdict, &generated) {
            (Verdict::Either, Ok(_)) => "random crate accepted",
            (Verdict::Either, Err(_)) => "random crate refused",
            (_, Ok(_)) => "written crate accepted",
            (_, Err(_)) => "written crate refused",
        });
        match generated {
            Ok(generated) if krate.verdict != Verdict::Refused => clients.push((krate, generated)),
            Ok(_) => wrong.push(format!("accepted, which is wrong:\n{krate}")),
            Err(said) if krate.verdict == Verdict::Accepted => wrong.push(format!("{said}\n{krate}")),
            Err(said) if !said.contains("--> apis/src/") => {
                wrong.push(format!("no place in: {said}\n{krate}"))
            }
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{} crates:\n{}", wrong.len(), wrong.join("\n\n"));
    tally.require(&[
        ("written crate accepted", 1),
        ("written crate refused", 1),
        ("random crate accepted", 61),
        ("random crate refused", 1),
    ]);

    let requests = workspace.call_all(&clients);
    let expected: Requests = clients
        .iter()
        .flat_map(|(krate, _)| krate.kinds.iter().map(move |kind| (krate, kind)))
        .flat_map(|(krate, kind)| {
            kind.calls()
                .into_iter()
                .map(|call| ((krate.name.clone(), format!("{}: {}", kind.clients, call.code)), call.request))
        })
        .collect();
    for (call, request) in &expected {
        let made = requests.get(call).map(String::as_str);
        let krate = crates.iter().find(|krate| krate.name == call.0).unwrap();
        assert_eq!(made, Some(request.as_str()), "{call:?}\n{krate}");
    }
    assert_eq!(requests.len(), expected.len());
    for request in requests.values() {
        tally.count(request.split(' ').next().unwrap());
    }
    tally.require(&[("GET", 50), ("POST", 20), ("PUT", 20), ("PATCH", 20), ("DELETE", 20)]);
}
