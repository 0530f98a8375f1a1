//! A proxy in front of Neutron that does to each request what a test says, and records the writes.
//!
//! A request that was received is carried out even if its sender is dead: the proxy does what a server
//! does that had already read it.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use genclient_runtime::k8s_openapi::jiff::Timestamp;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

use super::eventually;

/// What becomes of a request.
#[derive(Clone)]
pub enum Verdict {
    /// It is carried out.
    Pass,
    /// It is not carried out, and this is the answer.
    Answer(u16, String),
    /// It is carried out, and the connection is cut before the answer.
    LoseAnswer,
    /// It is carried out when the test says so.
    Hold(Gate),
}

/// Where requests wait until the test lets them through.
#[derive(Clone, Default)]
pub struct Gate(Arc<GateState>);

#[derive(Default)]
struct GateState {
    reached: Notify,
    open: Notify,
    /// How many requests were carried out behind the gate.
    passed: AtomicUsize,
}

impl Gate {
    /// Waits until a request waits here.
    pub async fn reached(&self) {
        let waited = tokio::time::timeout(Duration::from_secs(60), self.0.reached.notified()).await;
        assert!(waited.is_ok(), "no request came to the gate within a minute");
    }

    /// Lets one request through, and waits until Neutron has carried it out.
    pub async fn let_one_through(&self) {
        let before = self.0.passed.load(SeqCst);
        self.0.open.notify_one();
        let passed = async || self.0.passed.load(SeqCst);
        eventually("the held request is carried out", passed, |now| *now > before).await;
    }
}

/// A write that Neutron has answered.
#[derive(Clone, Debug)]
pub struct Write {
    /// When the proxy received it.
    pub received: Timestamp,
    /// When Neutron had answered.
    pub answered: Timestamp,
    /// The program that sent it.
    pub user_agent: String,
    pub method: Method,
    pub path: String,
    pub status: StatusCode,
    pub answer: Value,
}

type Script = Box<dyn FnMut(&Method, &str) -> Verdict + Send>;

/// A proxy on a port of its own; it ends when this is dropped.
pub struct Proxy {
    pub url: String,
    state: Arc<State>,
    server: JoinHandle<()>,
}

struct State {
    target: String,
    client: Client<HttpConnector, Full<Bytes>>,
    script: Mutex<Script>,
    /// The token of the last request that had one.
    token: Mutex<Option<String>>,
    writes: Mutex<Vec<Write>>,
}

impl Proxy {
    pub async fn start(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            target,
            client: Client::builder(TokioExecutor::new()).build_http(),
            script: Mutex::new(Box::new(|_, _| Verdict::Pass)),
            token: Mutex::default(),
            writes: Mutex::default(),
        });
        let shared = state.clone();
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = shared.clone();
                let service = service_fn(move |request| handle(state.clone(), request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { url, state, server }
    }

    /// The token of the last request that had one.
    pub fn token(&self) -> Option<String> {
        self.state.token.lock().clone()
    }

    /// The writes that Neutron has answered, in the order of the answers.
    pub fn writes(&self) -> Vec<Write> {
        self.state.writes.lock().clone()
    }

    /// Decides what becomes of the requests from now on.
    pub fn script(&self, script: impl FnMut(&Method, &str) -> Verdict + Send + 'static) {
        *self.state.script.lock() = Box::new(script);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn handle(state: Arc<State>, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let received = Timestamp::now();
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    if let Some(token) = request.headers().get("x-auth-token") {
        *state.token.lock() = Some(token.to_str().map_err(io::Error::other)?.to_owned());
    }
    let verdict = (state.script.lock())(request.method(), &path);
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let request = Request::from_parts(head, Full::new(body));
    // A task of its own goes on although the connection, and this future with it, is gone.
    let carried_out = tokio::spawn(async move {
        match verdict {
            Verdict::Pass => forward(&state, request, &path, received).await,
            Verdict::Answer(status, body) => {
                Response::builder().status(status).body(Full::new(body.into())).map_err(io::Error::other)
            }
            Verdict::LoseAnswer => {
                forward(&state, request, &path, received).await?;
                Err(io::Error::other("the answer is lost"))
            }
            Verdict::Hold(gate) => {
                gate.0.reached.notify_one();
                gate.0.open.notified().await;
                let answer = forward(&state, request, &path, received).await;
                gate.0.passed.fetch_add(1, SeqCst);
                answer
            }
        }
    });
    carried_out.await.map_err(io::Error::other)?
}

async fn forward(
    state: &State,
    mut request: Request<Full<Bytes>>,
    path: &str,
    received: Timestamp,
) -> io::Result<Response<Full<Bytes>>> {
    *request.uri_mut() = format!("{}{path}", state.target).parse::<Uri>().map_err(io::Error::other)?;
    request.headers_mut().remove(header::HOST);
    let (method, headers) = (request.method().clone(), request.headers());
    let user_agent = headers.get(header::USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let user_agent = user_agent.unwrap_or_default().into_owned();
    let answer = state.client.request(request).await.map_err(io::Error::other)?;
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    if method != Method::GET {
        state.writes.lock().push(Write {
            received,
            answered: Timestamp::now(),
            user_agent,
            method,
            path: path.to_owned(),
            status: head.status,
            answer: serde_json::from_slice(&body).unwrap_or_default(),
        });
    }
    Ok(Response::from_parts(head, Full::new(body)))
}
