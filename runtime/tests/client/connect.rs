//! Clients whose connections notice that their peer is gone.

use std::{process::Command, time::Duration};

use futures::StreamExt as _;
use genclient_runtime::{
    ListParams, TypedClient,
    client::{self, WatchEvent},
    error::Cause,
};
use http::{HeaderName, HeaderValue};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, config::AuthInfo};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::*;

fn config_maps(client: Client) -> TypedClient<ConfigMap> {
    TypedClient::namespaced(client, "default")
}

#[tokio::test]
async fn a_client_has_the_credentials_headers_namespace_and_retries_of_its_configuration() {
    let busy = || Answer::status(429, "TooManyRequests", "slow down").header("retry-after", 0);
    let server = ScriptedServer::start(script([busy(), Answer::json(config_map("a", 5))])).await;
    let mut config = server.config();
    config.default_namespace = "mine".to_owned();
    config.auth_info = AuthInfo { token: Some("secret".to_owned().into()), ..AuthInfo::default() };
    config.headers.push((HeaderName::from_static("x-test"), HeaderValue::from_static("yes")));
    let client = client::connect(config.clone()).unwrap();
    assert_eq!(client.default_namespace(), "mine");
    config_maps(client).get("a").await.unwrap();
    let requests = server.log().all();
    assert_eq!(requests.len(), 2, "kube's retry");
    for request in requests {
        assert_eq!(
            (&*request.headers["authorization"], &*request.headers["x-test"]),
            ("Bearer secret", "yes")
        );
        assert!(!request.headers.contains_key("accept-encoding"));
    }
    config.default_retry = false;
    let server = ScriptedServer::start(script([busy()])).await;
    config.cluster_url = server.config().cluster_url;
    assert!(config_maps(client::connect(config).unwrap()).get("a").await.unwrap_err().is_too_many_requests());
}

#[tokio::test]
async fn a_base_path_in_the_url_of_the_cluster_is_kept() {
    let server = ScriptedServer::start(script([Answer::json(config_map("a", 5))])).await;
    let mut config = server.config();
    config.cluster_url = format!("{}clusters/one", config.cluster_url).parse().unwrap();
    config_maps(client::connect(config).unwrap()).get("a").await.unwrap();
    assert_eq!(server.log().all()[0].path, "/clusters/one/api/v1/namespaces/default/configmaps/a");
}

#[tokio::test]
#[ignore = "a process of the next test"]
async fn child() {
    let client = client::try_default().await.unwrap();
    config_maps(client).get("a").await.unwrap();
}

#[tokio::test]
async fn a_cluster_that_no_proxy_names_is_reached_without_the_proxy_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    for (excluded, is_reached) in
        [("127.0.0.1", true), ("example.com,127.0.0.0/8", true), ("localhost", false)]
    {
        let server = ScriptedServer::start(script([Answer::json(config_map("a", 5))])).await;
        let url = server.config().cluster_url.to_string();
        let config = json!({
            "clusters": [{"name": "test", "cluster": {"server": url}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": ""}}],
            "current-context": "test",
        });
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "connect::child", "--ignored"]).env("KUBECONFIG", &kubeconfig);
        // Nothing listens there.
        child.env("HTTPS_PROXY", "http://localhost:1").env("NO_PROXY", excluded);
        let ended = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(said.contains("1 passed") || said.contains("1 failed"), "{said}");
        assert_eq!(
            (ended.status.success(), server.log().len()),
            (is_reached, usize::from(is_reached)),
            "{said}"
        );
    }
}

#[tokio::test]
async fn the_timeouts_of_the_configuration_end_a_handshake_and_a_read() {
    // The kernel accepts the connection, and no server answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    for scheme in ["https", "http"] {
        let mut config = kube::Config::new(format!("{scheme}://{address}").parse().unwrap());
        config.connect_timeout = Some(Duration::from_millis(100));
        config.read_timeout = Some(Duration::from_millis(100));
        let error = config_maps(client::connect(config).unwrap()).get("a").await.unwrap_err();
        assert!(matches!(error.cause(), Cause::Kube(_)), "{error}");
    }
}

#[tokio::test]
async fn an_idle_watch_is_probed_by_the_kernel() {
    if !cfg!(target_os = "linux") {
        return;
    }
    for (connect, probed) in CLIENTS.into_iter().zip([1, 0]) {
        let server = ScriptedServer::start(|_: Received| Answer::watch([bookmark(10)])).await;
        let mut events = config_maps(connect(&server)).watch(&ListParams::default().at("5"));
        events.next().await.unwrap().unwrap();
        assert_eq!(keepalive_timers(server.config().cluster_url.port_u16().unwrap()), probed);
    }
}

/// How to make a client: ours and kube's.
const CLIENTS: [fn(&ScriptedServer) -> Client; 2] = [ScriptedServer::client, ScriptedServer::kubes_client];

#[tokio::test]
async fn a_dropped_watch_closes_its_connection_also_between_events() {
    for connect in CLIENTS {
        for busy in [false, true] {
            let (writer, answer) = Answer::stream();
            let server = ScriptedServer::start(script([answer])).await;
            let mut events = config_maps(connect(&server)).watch(&ListParams::default().at("5"));
            let bookmarks = if busy { 1000 } else { 1 };
            for version in 0..bookmarks {
                writer.event(bookmark(10 + version));
            }
            for _ in 0..bookmarks {
                events.next().await.unwrap().unwrap();
            }
            drop(events);
            tokio::time::timeout(Duration::from_secs(10), writer.closed()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_request_does_not_wait_for_the_reader_of_a_watch_that_has_ended() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                loop {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        request.push(connection.read_u8().await?);
                    }
                    let body = if String::from_utf8_lossy(&request).contains("watch=true") {
                        (10..20).map(|version| line(&bookmark(version))).collect()
                    } else {
                        config_map("a", 5).to_string()
                    };
                    // The body and its end come at once, and the connection stays open.
                    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                    let answer = format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
                    connection.write_all(answer.as_bytes()).await?;
                }
                #[expect(unreachable_code, reason = "it says what the result of the task is")]
                std::io::Result::Ok(())
            });
        }
    });
    let client = config_maps(client::connect(kube::Config::new(url)).unwrap());
    let mut events = client.watch(&ListParams::default().at("5"));
    events.next().await.unwrap().unwrap();
    // The watch has ended, but its reader has not come to the end.
    let answer = tokio::time::timeout(Duration::from_secs(20), client.get("a")).await;
    answer.expect("the request is sent").unwrap();
}

/// The number of connections to this port on loopback with a keep-alive timer of at most 15 s.
fn keepalive_timers(port: u16) -> usize {
    const ESTABLISHED: &str = "01";
    const KEEPALIVE: &str = "02";
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux shows its connections");
    let rows = table.lines().skip(1).map(|row| row.split_ascii_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row[2] == format!("0100007F:{port:04X}") && row[3] == ESTABLISHED)
        .filter(|row| {
            let (kind, ticks) = row[5].split_once(':').expect("a timer has a kind and a time");
            kind == KEEPALIVE && u64::from_str_radix(ticks, 16).expect("a time is a number") <= 1500
        })
        .count()
}

/// What an answer does, the pieces in which it is written, and the versions that are read before the watch resumes.
type OddAnswer = (&'static str, Vec<Vec<u8>>, &'static [u64]);

/// Answers to a watch that starts at version 5. The connection is closed after the last piece.
fn odd_answers() -> Vec<OddAnswer> {
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let event = |version| line(&bookmark(version));
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let whole = |text: String| vec![text.into_bytes()];
    let [six, seven] = [event(6), event(7)];
    let bytes = |text: String| text.into_bytes().into_iter().map(|byte| vec![byte]).collect();
    let half = &chunk(&seven)[..20];
    vec![
        ("byte by byte", bytes(format!("{head}{}0\r\n\r\n", chunk(&six))), &[6]),
        (
            "chunks of one byte",
            whole(format!(
                "{head}{}0\r\n\r\n",
                six.split("").filter(|c| !c.is_empty()).map(chunk).collect::<String>()
            )),
            &[6],
        ),
        (
            "two events in one chunk",
            whole(format!("{head}{}0\r\n\r\n", chunk(&format!("{six}{seven}")))),
            &[6, 7],
        ),
        ("a cut within a chunk", whole(format!("{head}{}{half}", chunk(&six))), &[6]),
        ("a cut after a chunk", whole(format!("{head}{}", chunk(&six))), &[6]),
        ("a cut within the head", whole("HTTP/1.1 200 OK\r\ntransfer-enc".to_owned()), &[]),
        ("nothing at all", Vec::new(), &[]),
        (
            "an informational answer first",
            whole(format!("HTTP/1.1 103 Early Hints\r\n\r\n{head}{}0\r\n\r\n", chunk(&six))),
            &[6],
        ),
        ("extensions of a chunk", whole(format!("{head}{:x};a=b\r\n{six}\r\n0\r\n\r\n", six.len())), &[6]),
        ("trailers", whole(format!("{head}{}0\r\nx-end: yes\r\n\r\n", chunk(&six))), &[6]),
        (
            "a body of known length",
            whole(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{six}", six.len())),
            &[6],
        ),
        (
            "a body that is shorter than its length",
            whole(format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{six}")),
            &[6],
        ),
        ("a body until the end of the connection", whole(format!("HTTP/1.0 200 OK\r\n\r\n{six}")), &[6]),
        ("an empty body", whole(format!("{head}0\r\n\r\n")), &[]),
        (
            "a second answer behind the end",
            whole(format!("{head}{}0\r\n\r\n{head}{}0\r\n\r\n", chunk(&six), chunk(&event(50)))),
            &[6],
        ),
        ("garbage behind the end", whole(format!("{head}{}0\r\n\r\n\0\u{1}garbage", chunk(&six))), &[6]),
        ("a bad size of a chunk", whole(format!("{head}{}zz\r\n{seven}\r\n", chunk(&six))), &[6]),
        ("two heads", whole(format!("{head}{head}{}", chunk(&six))), &[]),
        ("not HTTP", whole("SSH-2.0-OpenSSH_9.2\r\n".to_owned()), &[]),
    ]
}

/// Answers the first request with these pieces, and each further one with a bookmark at version 99.
async fn answer_once(pieces: Vec<Vec<u8>>) -> kube::Config {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let last = line(&bookmark(99));
        let last = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{last}", last.len());
        let mut answers =
            std::iter::once(pieces).chain(std::iter::repeat_with(|| vec![last.clone().into_bytes()]));
        loop {
            let (mut connection, _) = listener.accept().await?;
            connection.set_nodelay(true)?;
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(connection.read_u8().await?);
            }
            for piece in answers.next().into_iter().flatten() {
                // The client may have seen enough.
                let _ = connection.write_all(&piece).await;
            }
        }
        #[expect(unreachable_code, reason = "it says what the result of the task is")]
        std::io::Result::Ok(())
    });
    kube::Config::new(url)
}

#[tokio::test]
async fn an_odd_answer_to_a_watch_loses_no_event_and_nothing_behind_its_end_is_read() {
    let connect: [fn(kube::Config) -> Client; 2] =
        [|config| client::connect(config).unwrap(), |config| Client::try_from(config).unwrap()];
    let cases =
        connect.into_iter().flat_map(|connect| odd_answers().into_iter().map(move |odd| (connect, odd)));
    let read = cases.map(|(connect, (name, pieces, expected))| async move {
        let client = config_maps(connect(answer_once(pieces).await));
        let mut events = client.watch(&ListParams::default().at("5"));
        let mut versions = Vec::new();
        while versions.last() != Some(&99) {
            let event = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
            match event.unwrap_or_else(|_| panic!("{name}: the watch did not resume after {versions:?}")) {
                Some(Ok(WatchEvent::Bookmark { resource_version })) => {
                    versions.push(resource_version.parse().unwrap());
                }
                other => panic!("{name}: {other:?} after {versions:?}"),
            }
        }
        assert_eq!(versions, [expected, &[99_u64]].concat(), "{name}");
    });
    assert_eq!(futures::future::join_all(read).await.len(), 2 * 19);
}
