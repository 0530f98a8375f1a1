//! Connections without an HTTP client.

use std::{net::SocketAddr, time::Duration};

use genclient_fake::{Server, http::Serving};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

/// How long anything may take on a busy machine.
pub const LONG: Duration = Duration::from_secs(20);

/// Any free port.
pub fn anywhere() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// Serves plain HTTP, which a test can write by hand.
pub async fn serve() -> (Server, Serving) {
    let server = Server::new();
    let serving = server.serve_insecure(anywhere()).await.unwrap();
    (server, serving)
}

pub async fn serve_securely() -> (Server, Serving) {
    let server = Server::new();
    let serving = server.serve(anywhere()).await.unwrap();
    (server, serving)
}

/// Sends bytes on a new connection.
pub async fn connect(serving: &Serving, bytes: impl AsRef<[u8]>) -> TcpStream {
    let mut stream = TcpStream::connect(serving.address()).await.unwrap();
    stream.write_all(bytes.as_ref()).await.unwrap();
    stream
}

/// Reads until the text has come.
pub async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    let read = async {
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).await.unwrap();
            assert_ne!(count, 0, "the connection ended: {}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&bytes);
            if text.contains(end) {
                return text.into_owned();
            }
        }
    };
    timeout(LONG, read).await.unwrap_or_else(|_| panic!("there was no {end:?}"))
}

/// Reads until the server closes the connection.
pub async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A server may close a connection whose bytes it has not read, which breaks it.
    let _ = timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("the server closes the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sends a request on a connection of its own, and returns the whole answer.
pub async fn request(serving: &Serving, line: &str, body: &str) -> String {
    let host = serving.address();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    read_to_end(&mut connect(serving, request).await).await
}

/// Opens a watch of config maps and reads the head of its answer.
pub async fn watch(serving: &Serving) -> TcpStream {
    let host = serving.address();
    let line = format!("GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let mut stream = connect(serving, line).await;
    let head = read_until(&mut stream, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("chunked"), "{head}");
    stream
}

/// Waits until something is so.
pub async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}");
        sleep(Duration::from_millis(10)).await;
    }
}
