//! Clients that are broken, slow or malicious.

use std::{io::ErrorKind, time::Duration};

use futures::future::join_all;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};

use crate::support::{connect, eventually, read_to_end, read_until, request, serve, watch};

const MAP: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"}}"#;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Asserts that the server still works.
async fn assert_alive(serving: &genclient_fake::http::Serving) {
    let answer = request(serving, "GET /healthz", "").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_loopback_is_served() {
    let server = genclient_fake::Server::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8001"] {
        let error = server.serve(address.parse().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("is not an address of loopback"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_a_clear_error() {
    let (server, serving) = serve().await;
    let error = server.serve(serving.address()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(error.to_string().contains(&serving.address().to_string()), "{error}");
    assert!(error.to_string().contains("another program listens there"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_another_host_is_refused() {
    let (_server, serving) = serve().await;
    let foreign = "GET /api HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";
    let answer = read_to_end(&mut connect(&serving, foreign).await).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("not a loopback address"), "{answer}");
    assert_alive(&serving).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_cannot_write_even_without_tokens() {
    let (server, serving) = serve().await;
    let body = MAP.replace("NAME", "evil");
    for headers in ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "Origin: null"] {
        let request = format!(
            "POST {MAPS} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\nContent-Length: {}\r\n\r\n{body}",
            serving.address(),
            body.len()
        );
        let answer = read_to_end(&mut connect(&serving, request).await).await;
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("web page"), "{answer}");
    }
    let answer = request(&serving, &format!("GET {MAPS}/evil"), "").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_kept_for_several_requests() {
    let (_server, serving) = serve().await;
    let line = format!("GET /livez HTTP/1.1\r\nHost: {}\r\n\r\n", serving.address());
    let mut stream = connect(&serving, &line).await;
    for _ in 0..10 {
        read_until(&mut stream, "\r\n\r\nok").await;
        stream.write_all(line.as_bytes()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_refused_whether_its_size_is_told_or_not() {
    let (_server, serving) = serve().await;
    let body = " ".repeat(3 * 1024 * 1024 + 1);
    let told = request(&serving, &format!("POST {MAPS}"), &body).await;
    assert!(told.starts_with("HTTP/1.1 413"), "{told}");
    assert!(told.contains("Request entity too large: limit is 3145728"), "{told}");

    let host = serving.address();
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let not_told = read_to_end(&mut connect(&serving, head + &chunk).await).await;
    assert!(not_told.starts_with("HTTP/1.1 413"), "{not_told}");
    assert_alive(&serving).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_an_end_is_given_up() {
    let (_server, serving) = serve().await;
    let host = serving.address();
    let head = format!("POST {MAPS} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut stream = connect(&serving, head).await;
    let megabyte = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    let send = async {
        for _ in 0..1000 {
            stream.write_all(megabyte.as_bytes()).await?;
        }
        std::io::Result::Ok(())
    };
    // The server reads no gigabyte: it answers and closes the connection.
    assert!(timeout(Duration::from_secs(60), send).await.unwrap().is_err());
    assert_alive(&serving).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_body_writes_nothing() {
    let (_server, serving) = serve().await;
    let body = MAP.replace("NAME", "cut");
    let host = serving.address();
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len() + 1
    );
    let mut stream = connect(&serving, head + &body).await;
    stream.shutdown().await.unwrap();
    read_to_end(&mut stream).await;
    let answer = request(&serving, &format!("GET {MAPS}/cut"), "").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_http_is_refused() {
    let (_server, serving) = serve().await;
    let long_name = format!("GET / HTTP/1.1\r\n{}: x\r\n\r\n", "a".repeat(1 << 20));
    let many_headers = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(10_000));
    for bytes in [
        "\r\n\r\n\r\nhello\r\n\r\n",
        "GET\r\n\r\n",
        "GET /api HTTP/9.9\r\n\r\n",
        "POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST /api HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\u{0}\u{1}\u{2}\u{3}",
        &long_name,
        &many_headers,
    ] {
        let mut stream = TcpStream::connect(serving.address()).await.unwrap();
        // The server may stop reading in the middle.
        let _ = stream.write_all(bytes.as_bytes()).await;
        let _ = stream.shutdown().await;
        let answer = read_to_end(&mut stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_alive(&serving).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_lead_nowhere_else() {
    let (_server, serving) = serve().await;
    for path in [
        "/../../etc/passwd",
        "/api/v1/../../../etc/passwd",
        "/api/v1/namespaces/%2e%2e/configmaps/x",
        "/api/v1/namespaces/default/configmaps/%00",
        "/api/v1//configmaps",
        "/%",
        "/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets",
        "/apis/x/y/z/w/v/u/t/s",
    ] {
        let answer = request(&serving, &format!("GET {path}"), "").await;
        assert!(answer.starts_with("HTTP/1.1 40"), "{path}: {answer}");
    }
    assert_alive(&serving).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_a_head_slowly_loses_its_connection() {
    let (_server, serving) = serve().await;
    let start = Instant::now();
    let mut slow = connect(&serving, "GET /api HTTP/1.1\r\n").await;
    let (mut reader, mut writer) = slow.split();
    let mut answer = Vec::new();
    let drip = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if writer.write_all(b"a: b\r\n").await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        _ = reader.read_to_end(&mut answer) => {}
        () = drip => {}
        () = tokio::time::sleep(Duration::from_secs(50)) => panic!("the connection is still open"),
    }
    let waited = start.elapsed().as_secs();
    assert!((25..45).contains(&waited), "{waited} s");
    assert_alive(&serving).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_with_its_client() {
    let (server, serving) = serve().await;
    let streams = [watch(&serving).await, watch(&serving).await, watch(&serving).await];
    assert_eq!(server.open_watches("*"), 3);
    drop(streams);
    eventually("the watches have ended", || server.open_watches("*") == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_disconnects_while_events_come_leaves_nothing_behind() {
    let (server, serving) = serve().await;
    let mut stream = watch(&serving).await;
    for number in 0..100 {
        let created =
            request(&serving, &format!("POST {MAPS}"), &MAP.replace("NAME", &format!("m{number}"))).await;
        assert!(created.starts_with("HTTP/1.1 201"), "{created}");
        if number == 50 {
            read_until(&mut stream, "m10").await;
            stream.set_zero_linger().unwrap();
            stream = watch(&serving).await;
        }
    }
    drop(stream);
    eventually("the watches have ended", || server.open_watches("*") == 0).await;
    assert_alive(&serving).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_watchers_see_every_event() {
    let (server, serving) = serve().await;
    let mut watchers = join_all((0..100).map(|_| watch(&serving))).await;
    assert_eq!(server.open_watches("*"), 100);
    for name in ["first", "second", "third"] {
        request(&serving, &format!("POST {MAPS}"), &MAP.replace("NAME", name)).await;
    }
    let seen = join_all(watchers.iter_mut().map(|stream| read_until(stream, r#""name":"third""#))).await;
    for events in seen {
        let place = |name: &str| events.find(&format!(r#""name":"{name}""#)).unwrap();
        assert!(place("first") < place("second") && place("second") < place("third"), "{events}");
    }
    drop(watchers);
    eventually("the watches have ended", || server.open_watches("*") == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_ends_watches_in_order_and_leaves_the_objects() {
    let (server, serving) = serve().await;
    request(&serving, &format!("POST {MAPS}"), &MAP.replace("NAME", "kept")).await;
    let mut streams = [watch(&serving).await, watch(&serving).await];
    let idle = connect(&serving, "").await;
    let stuck = connect(&serving, "POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n").await;
    let (address, start) = (serving.address(), Instant::now());
    serving.shutdown().await;
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    for stream in &mut streams {
        // The last chunk says that nothing is missing.
        assert!(read_to_end(stream).await.ends_with("0\r\n\r\n"));
    }
    assert_eq!(server.open_watches("*"), 0);
    assert!(TcpStream::connect(address).await.is_err());
    drop((idle, stuck));

    let again = server.serve_insecure(address).await.unwrap();
    let answer = request(&again, &format!("GET {MAPS}/kept"), "").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_dropped_listens_no_more() {
    let (server, serving) = serve().await;
    let mut stream = watch(&serving).await;
    drop(serving);
    read_to_end(&mut stream).await;
    eventually("the watch has ended", || server.open_watches("*") == 0).await;
}
