//! A scripted server behind a socket.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{Answer, Handler, Log, Piece, Received};

/// A server on loopback. It stops when it is dropped.
pub struct ScriptedServer {
    address: SocketAddr,
    log: Log,
    tasks: JoinSet<()>,
}

impl ScriptedServer {
    pub async fn start(handler: impl Handler) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let (handler, log, mut tasks) = (Arc::new(handler), Log::default(), JoinSet::new());
        let requests = log.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let (handler, log) = (Arc::clone(&handler), requests.clone());
                // A broken connection is part of the script.
                connections.spawn(async move { drop(serve(connection, &*handler, &log).await) });
            }
        });
        Self { address, log, tasks }
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    /// A client with the default configuration of kube, including its retries.
    pub fn client(&self) -> kube::Client {
        genclient_runtime::client::connect(self.config()).expect("the configuration is complete")
    }

    /// The same, made by kube.
    pub fn kubes_client(&self) -> kube::Client {
        kube::Client::try_from(self.config()).expect("the configuration is complete")
    }

    pub fn config(&self) -> kube::Config {
        kube::Config::new(format!("http://{}", self.address).parse().expect("an address makes a URL"))
    }
}

async fn serve(connection: TcpStream, handler: &impl Handler, log: &Log) -> std::io::Result<()> {
    let mut stream = BufStream::new(connection);
    loop {
        let Some(request) = read_request(&mut stream).await? else { return Ok(()) };
        log.push(request.clone());
        match handler(request) {
            Answer::Whole { status, headers, body } => {
                let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n", body.len());
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(b"\r\n").await?;
                stream.write_all(&body).await?;
                stream.flush().await?;
            }
            Answer::Stream { headers, mut pieces } => {
                stream.write_all(b"HTTP/1.1 200 Scripted\r\ntransfer-encoding: chunked\r\n").await?;
                for (name, value) in headers {
                    stream.write_all(format!("{name}: {value}\r\n").as_bytes()).await?;
                }
                stream.write_all(b"\r\n").await?;
                stream.flush().await?;
                loop {
                    // Notices a client that disconnects while nothing is written.
                    let piece = tokio::select! {
                        piece = pieces.recv() => piece,
                        gone = stream.fill_buf() => { gone?; return Ok(()) }
                    };
                    match piece {
                        Some(Piece::Bytes(bytes)) => {
                            stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
                            stream.write_all(&bytes).await?;
                            stream.write_all(b"\r\n").await?;
                        }
                        Some(Piece::Cut) => return Ok(()),
                        None => break,
                    }
                    stream.flush().await?;
                }
                stream.write_all(b"0\r\n\r\n").await?;
                stream.flush().await?;
            }
            Answer::Refuse => return Ok(()),
            Answer::Silence => std::future::pending().await,
        }
    }
}

async fn read_request(stream: &mut BufStream<TcpStream>) -> std::io::Result<Option<Received>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace();
    let (method, target) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some(Received::new(&method, &target, headers.into_iter(), Bytes::from(body))))
}
