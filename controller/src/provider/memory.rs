//! Networks in memory: the default, for trying the controller and for tests.
//!
//! [`serve_memory`] shows them on HTTP and [`RemoteMemory`] uses them there, so that the networks can
//! outlive the controller.

use std::{collections::BTreeMap, convert::Infallible, fmt, sync::Arc};

use bytes::Bytes;
use genclient_runtime::ObjectKey;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{Duration, timeout},
};

use super::{Actual, Desired, Error, ErrorKind, Owner, Provider};

/// Networks that live as long as the process; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// By uid.
    networks: Arc<Mutex<BTreeMap<String, (Owner, Desired)>>>,
}

impl Memory {
    /// All networks, by owner.
    pub fn networks(&self) -> BTreeMap<Owner, Desired> {
        self.networks.lock().values().cloned().collect()
    }

    /// Puts a network in place as if somebody else had: without regard for what is there.
    pub fn insert(&self, owner: &Owner, desired: Desired) {
        self.networks.lock().insert(owner.uid.clone(), (owner.clone(), desired));
    }
}

fn of_key(owner: &Owner, key: &ObjectKey) -> bool {
    Some(&owner.namespace) == key.namespace.as_ref() && owner.name == key.name
}

impl Provider for Memory {
    async fn get(&self, owner: &Owner) -> Result<Option<Actual>, Error> {
        let networks = self.networks.lock();
        let Some(&(_, config)) = networks.get(&owner.uid) else { return Ok(None) };
        let left_over = |(uid, (other, _)): (&String, &(Owner, Desired))| {
            *uid != owner.uid && of_key(other, &owner.key())
        };
        Ok(Some(Actual {
            id: owner.uid.clone(),
            config: Some(config),
            tidy: !networks.iter().any(left_over),
        }))
    }

    async fn apply(&self, owner: &Owner, desired: &Desired) -> Result<Actual, Error> {
        let mut networks = self.networks.lock();
        networks.retain(|uid, (other, _)| *uid == owner.uid || !of_key(other, &owner.key()));
        networks.insert(owner.uid.clone(), (owner.clone(), *desired));
        Ok(Actual { id: owner.uid.clone(), config: Some(*desired), tidy: true })
    }

    async fn delete(&self, owner: &Owner) -> Result<(), Error> {
        self.networks.lock().remove(&owner.uid);
        Ok(())
    }

    async fn delete_key(&self, key: &ObjectKey) -> Result<(), Error> {
        self.networks.lock().retain(|_, (owner, _)| !of_key(owner, key));
        Ok(())
    }

    async fn owners(&self) -> Result<Vec<Owner>, Error> {
        Ok(self.networks().into_keys().collect())
    }
}

/// A call over HTTP: the body of a POST. The answer is the call's result as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Call {
    Get { owner: Owner },
    Apply { owner: Owner, desired: Desired },
    Delete { owner: Owner },
    DeleteKey { namespace: Option<String>, name: String },
    Owners,
}

/// How long a call over HTTP may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// No body is larger than this.
const MAX_BODY: usize = 16 << 20;

/// Networks that live in another process, which calls [`serve_memory`].
#[derive(Clone, Debug)]
pub struct RemoteMemory {
    client: Client<HttpConnector, Full<Bytes>>,
    url: http::Uri,
}

impl RemoteMemory {
    /// Uses the networks that are served at this URL.
    pub fn new(url: http::Uri) -> Self {
        Self { client: Client::builder(TokioExecutor::new()).build_http(), url }
    }

    async fn call<R: DeserializeOwned>(&self, call: Call) -> Result<R, Error> {
        let fail = |kind, why: &dyn fmt::Display| Error::new(kind, format!("POST {}: {why}", self.url));
        let mut request = Request::new(Full::new(Bytes::from(json!(call).to_string())));
        (*request.method_mut(), *request.uri_mut()) = (http::Method::POST, self.url.clone());
        let exchange = async {
            let answer = self.client.request(request).await;
            let answer = answer.map_err(|error| fail(ErrorKind::Unavailable, &error))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MAX_BODY).collect().await;
            let body = body.map_err(|error| fail(ErrorKind::Unavailable, &error))?.to_bytes();
            match status {
                StatusCode::OK => {
                    serde_json::from_slice(&body).map_err(|error| fail(ErrorKind::Protocol, &error))
                }
                status => Err(fail(ErrorKind::Unavailable, &format_args!("it was answered with {status}"))),
            }
        };
        let late = |_| Err(fail(ErrorKind::Unavailable, &format_args!("no answer within {TIMEOUT:?}")));
        timeout(TIMEOUT, exchange).await.unwrap_or_else(late)
    }
}

impl Provider for RemoteMemory {
    async fn get(&self, owner: &Owner) -> Result<Option<Actual>, Error> {
        self.call(Call::Get { owner: owner.clone() }).await
    }

    async fn apply(&self, owner: &Owner, desired: &Desired) -> Result<Actual, Error> {
        self.call(Call::Apply { owner: owner.clone(), desired: *desired }).await
    }

    async fn delete(&self, owner: &Owner) -> Result<(), Error> {
        self.call(Call::Delete { owner: owner.clone() }).await
    }

    async fn delete_key(&self, key: &ObjectKey) -> Result<(), Error> {
        self.call(Call::DeleteKey { namespace: key.namespace.clone(), name: key.name.clone() }).await
    }

    async fn owners(&self) -> Result<Vec<Owner>, Error> {
        self.call(Call::Owners).await
    }
}

/// Serves networks over HTTP until the future is dropped.
pub async fn serve_memory(memory: Memory, listener: TcpListener) -> std::io::Error {
    let mut connections = JoinSet::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => return error,
        };
        let memory = memory.clone();
        let service = service_fn(move |request| answer(memory.clone(), request));
        // A connection that breaks is the client's to notice; those that ended are let go here.
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(memory: Memory, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match carry_out(&memory, request).await {
        Ok(result) => (StatusCode::OK, result),
        Err(problem) => (StatusCode::BAD_REQUEST, json!(problem)),
    };
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    Ok(response)
}

async fn carry_out(memory: &Memory, request: Request<Incoming>) -> Result<Value, String> {
    let body =
        Limited::new(request.into_body(), MAX_BODY).collect().await.map_err(|error| error.to_string())?;
    let call = serde_json::from_slice(&body.to_bytes()).map_err(|error| error.to_string())?;
    let result = match call {
        Call::Get { owner } => memory.get(&owner).await.map(|actual| json!(actual)),
        Call::Apply { owner, desired } => memory.apply(&owner, &desired).await.map(|actual| json!(actual)),
        Call::Delete { owner } => memory.delete(&owner).await.map(|()| Value::Null),
        Call::DeleteKey { namespace, name } => {
            memory.delete_key(&ObjectKey { namespace, name }).await.map(|()| Value::Null)
        }
        Call::Owners => memory.owners().await.map(|owners| json!(owners)),
    };
    result.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str, uid: &str) -> Owner {
        Owner { namespace: "default".into(), name: name.into(), uid: uid.into() }
    }

    async fn keeps_the_contracts(provider: &impl Provider) {
        let first = Desired::parse("10.0.0.0/24", "10.0.0.1").unwrap();
        let second = Desired::parse("10.0.0.0/24", "10.0.0.2").unwrap();
        let (old, new, other) = (owner("a", "1"), owner("a", "2"), owner("b", "3"));
        assert_eq!(provider.get(&old).await, Ok(None));
        assert!(provider.apply(&old, &first).await.unwrap().is(&first));
        assert!(provider.apply(&old, &first).await.unwrap().is(&first), "again is the same");
        assert!(!provider.get(&old).await.unwrap().unwrap().is(&second));
        provider.apply(&other, &first).await.unwrap();
        provider.apply(&new, &second).await.unwrap();
        assert_eq!(provider.owners().await.unwrap(), [new.clone(), other.clone()], "what `a` left is gone");
        provider.delete(&old).await.unwrap();
        assert!(provider.get(&new).await.unwrap().unwrap().is(&second), "the uid tells them apart");
        provider.delete_key(&new.key()).await.unwrap();
        provider.delete_key(&new.key()).await.unwrap();
        provider.delete(&other).await.unwrap();
        assert_eq!(provider.owners().await.unwrap(), []);
    }

    #[tokio::test]
    async fn memory_keeps_the_contracts() {
        keeps_the_contracts(&Memory::default()).await;
    }

    #[tokio::test]
    async fn memory_keeps_the_contracts_over_http() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let memory = Memory::default();
        let server = tokio::spawn(serve_memory(memory.clone(), listener));
        let remote = RemoteMemory::new(url.parse().unwrap());
        keeps_the_contracts(&remote).await;
        memory.insert(&owner("c", "4"), Desired::parse("fd00::/64", "fd00::1").unwrap());
        assert_eq!(remote.owners().await.unwrap(), [owner("c", "4")]);
        server.abort();
    }

    #[tokio::test]
    async fn a_left_over_of_the_same_key_is_not_tidy() {
        let memory = Memory::default();
        let desired = Desired::parse("10.0.0.0/24", "10.0.0.1").unwrap();
        memory.insert(&owner("a", "1"), desired);
        memory.insert(&owner("a", "2"), desired);
        assert!(!memory.get(&owner("a", "2")).await.unwrap().unwrap().is(&desired));
    }
}
