//! The server: from a request to its answer.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    Clock, DataError,
    body::ResponseBody,
    decode, discovery,
    kinds::Kind,
    namespaces,
    reactors::Hooks,
    request::{Form, Look, Path, Request, ResourcePath},
    status::Failure,
    storage::State,
    verbs::{self, Call, Reply},
    view, yaml,
};

/// The largest body of a request.
pub(crate) const MAX_BODY: usize = 3 * 1024 * 1024;

/// A Kubernetes API server in memory.
///
/// Copies share everything. Use [`Server::service`] to make a client, or [`Server::respond`] to answer requests
/// without one.
#[derive(Clone, Debug)]
pub struct Server {
    shared: Arc<Shared>,
}

/// What all copies of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
    pub(crate) clock: Clock,
    /// What records requests and reacts to them.
    pub(crate) hooks: Hooks,
    watches: AtomicU64,
}

impl Shared {
    /// Returns the number of a new watch.
    pub(crate) fn next_watch(&self) -> u64 {
        self.watches.fetch_add(1, Ordering::Relaxed)
    }
}

/// The settings of a [`Server`].
#[derive(Clone, Debug)]
pub struct Builder {
    clock: Clock,
    history: usize,
    record: bool,
    data: Option<PathBuf>,
}

impl Builder {
    /// Sets the clock of the timestamps of objects. Without it, it is that of the system.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sets how many events of each resource are kept, 100,000 by default.
    ///
    /// A watch can begin at any version from which all later events are kept. An open watch that has not read an
    /// event when it is dropped ends.
    #[must_use]
    pub fn history(self, events: usize) -> Self {
        Self { history: events, ..self }
    }

    /// Records the requests of clients from the start, for [`Server::actions`]. Without it, none is kept.
    #[must_use]
    pub fn record_actions(self) -> Self {
        Self { record: true, ..self }
    }

    /// Keeps the state of the server in this file, which is created if it does not exist.
    ///
    /// A server that is started with the file of another one goes on where that one ended, even if its process was
    /// killed or the power failed: every write that was answered is there, with its version, its uid and its managed
    /// fields. Watches go on from the versions that their clients know, as far as the file has the events; from
    /// older versions they fail with 410.
    ///
    /// A write returns when it is on the disk, so each costs an `fdatasync`: 1 to 3 milliseconds on a virtual disk, and
    /// no other request is answered meanwhile. One that the disk does not take is refused with 500 and leaves
    /// nothing behind. From time to time, when it has grown to more than twice the size of its objects, the file is
    /// replaced by a shorter one, which forgets old events. Beside the file there is a lock, `FILE.lock`: one server
    /// uses a file at a time, until its last copy, client and watch are dropped.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cluster.data");
    /// use genclient_fake::Server;
    ///
    /// let server = Server::builder().data(&path).try_build()?;
    /// let shop = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
    /// let loaded = server.load_yaml(shop)?;
    /// drop(server);
    ///
    /// let server = Server::builder().data(&path).try_build()?;
    /// let again = server.load_yaml(shop)?;
    /// assert_eq!(again[0]["metadata"]["uid"], loaded[0]["metadata"]["uid"], "it is there already");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn data(self, file: impl Into<PathBuf>) -> Self {
        Self { data: Some(file.into()), ..self }
    }

    /// Starts the server.
    ///
    /// # Panics
    ///
    /// Panics if the file of [`Builder::data`] cannot be used. Without one it does not panic.
    pub fn build(self) -> Server {
        self.try_build().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts the server.
    ///
    /// # Errors
    ///
    /// Returns an error if the file of [`Builder::data`] cannot be used: because another server uses it, because it
    /// is damaged or something else, or because the disk does not take it. The file is left as it was.
    pub fn try_build(self) -> Result<Server, DataError> {
        let new = || {
            let mut state = State::new(self.history);
            namespaces::create_initial(&mut state, &self.clock);
            state
        };
        let state = match &self.data {
            Some(path) => State::open(path, self.history, new)?,
            None => new(),
        };
        let shared = Shared {
            state: Mutex::new(state),
            clock: self.clock,
            hooks: Hooks::recording(self.record),
            watches: AtomicU64::new(1),
        };
        Ok(Server { shared: Arc::new(shared) })
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// Starts a server with the namespaces of a new cluster.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns the settings of a server, to change them.
    pub fn builder() -> Builder {
        Builder { clock: Clock::system(), history: 100_000, record: false, data: None }
    }

    /// Forgets the events of the past, as a compaction of etcd and a restart of the API server do: a watch from
    /// an older version fails with 410, and so does the next page of a list. Open watches that have read all
    /// events go on.
    pub fn compact(&self) {
        self.shared.state.lock().compact();
    }

    /// Returns what all copies share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Answers a request, without recording it and without reactors; transports use [`Server::handle`].
    ///
    /// Nothing blocks: the events of a watch come through the body. Only a write to a server with a file,
    /// [`Builder::data`], waits for the disk.
    pub fn respond(&self, request: http::Request<Bytes>) -> Response<ResponseBody> {
        let request = Request::new(request);
        let head = request.method == Method::HEAD;
        let mut warnings = Vec::new();
        let mut response = match self.answer(&request, &mut warnings) {
            Ok(response) => response,
            Err(failure) => refuse(&failure),
        };
        // Errors have one form only.
        let forms: &[Form] = if response.status().is_success() {
            &[Form::Metadata, Form::Table, Form::Discovery]
        } else {
            &[]
        };
        if Look::wanted(&request.headers, forms).is_ok_and(|look| look.yaml) {
            in_yaml(&mut response);
        }
        if head {
            *response.body_mut() = ResponseBody::whole(Bytes::new());
        }
        for warning in warnings {
            let quoted: String =
                warning.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
            let text = format!("299 - {}", quote(&quoted));
            if let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) {
                response.headers_mut().append(header::WARNING, value);
            }
        }
        response
    }

    /// Replaces the file of a server that has one.
    #[cfg(test)]
    pub(crate) fn with_data(&self, change: impl FnOnce(crate::data::Data) -> crate::data::Data) {
        self.shared.state.lock().with_data(change);
    }

    fn answer(
        &self,
        request: &Request,
        warnings: &mut Vec<String>,
    ) -> Result<Response<ResponseBody>, Failure> {
        if request.body.len() > MAX_BODY {
            return Err(too_large());
        }
        let path = match &request.path {
            Path::Resource(path) => path,
            other => return self.answer_other(request, other),
        };
        let mut state = self.shared.state.lock();
        let Some(kind) = state.kinds.get(&path.group, &path.version, &path.plural) else {
            let known = state.kinds.is_builtin_group(&path.group);
            return if known { Err(Failure::no_such_path()) } else { Ok(page_not_found()) };
        };
        if let Err(failure) = check_place(path, &kind, &request.method) {
            return if kind.is_custom() { Ok(page_not_found()) } else { Err(failure) };
        }
        if let Some(warning) = kind.custom.as_ref().and_then(|custom| custom.deprecation.clone()) {
            warnings.push(warning);
        }
        let converted = (!kind.is_custom()).then(|| request.without_protobuf()).flatten().transpose()?;
        let request = converted.as_ref().unwrap_or(request);
        let mut call = Call { server: &self.shared, state: &mut state, request, kind, path, warnings };
        let reply = verbs::dispatch(&mut call);
        let kind = call.kind.clone();
        // Nobody sees a write before it is kept, because the state is locked until then.
        state.commit()?;
        let (look, reply) = reply?;
        Ok(match reply {
            Reply::Object(code, value) => {
                look.check_list(false, &decode::go_type(&kind))?;
                json(code, &view::object(value, &kind, look, self.shared.clock.now()))
            }
            Reply::Stored(code, object) => {
                look.check_list(false, &decode::go_type(&kind))?;
                whole(code, view::stored(&object, &kind, look, self.shared.clock.now()))
            }
            Reply::Plain(code, value) => json(code, &value),
            Reply::List(bytes) => whole(200, bytes),
            Reply::Watch(watch) => {
                let mut response = Response::new(ResponseBody::watch(watch));
                let headers = response.headers_mut();
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                response
            }
        })
    }

    fn answer_other(&self, request: &Request, path: &Path) -> Result<Response<ResponseBody>, Failure> {
        if let Path::OpenApi { group, version } = path
            && request.method == Method::GET
            && let Some(document) = discovery::builtin_open_api(group, version)
        {
            return Ok(whole(200, document));
        }
        let mut state = self.shared.state.lock();
        let known = match path {
            Path::Unknown => false,
            Path::Group(group) | Path::Resources { group, .. } => {
                state.kinds.is_builtin_group(group) || discovery::group(&state.kinds, group).is_some()
            }
            _ => true,
        };
        if known && request.method != Method::GET {
            return Err(Failure::method_not_supported());
        }
        let aggregated = || {
            Look::wanted(&request.headers, &[Form::Discovery]).is_ok_and(|look| look.form == Form::Discovery)
        };
        Ok(match path {
            Path::Health => text(200, "ok"),
            Path::OpenApiIndex => json(200, &discovery::open_api_index(&mut state)),
            Path::OpenApi { group, version } => match discovery::open_api(&mut state, group, version) {
                Some(document) => json(200, &document),
                None => page_not_found(),
            },
            Path::Version => json(200, &discovery::version()),
            Path::Root => json(200, &discovery::root(&state.kinds)),
            Path::CoreVersions | Path::Groups if aggregated() => {
                let core = matches!(path, Path::CoreVersions);
                let mut response = json(200, &discovery::aggregated(&state.kinds, core));
                let media = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
                response
            }
            Path::CoreVersions => json(200, &discovery::core_versions()),
            Path::Groups => json(200, &discovery::groups(&state.kinds)),
            Path::Group(group) => match discovery::group(&state.kinds, group) {
                Some(found) => json(200, &found),
                None => page_not_found(),
            },
            Path::Resources { group, version } => match discovery::resources(&state.kinds, group, version) {
                Some(found) => json(200, &found),
                None if state.kinds.is_builtin_group(group) => return Err(Failure::no_such_path()),
                None => page_not_found(),
            },
            Path::Resource(_) | Path::Unknown => page_not_found(),
        })
    }
}

/// Checks that a path has the namespace that its kind needs.
fn check_place(path: &ResourcePath, kind: &Kind, method: &Method) -> Result<(), Failure> {
    let namespaced = kind.namespaced;
    if namespaced && path.namespace.is_empty() {
        let reads = matches!(*method, Method::GET | Method::HEAD);
        // Of custom resources, the server lists whatever has no name, and looks at the rest of the path later.
        let listed = kind.is_custom() && reads && path.name.is_empty();
        if !listed && [&path.name, &path.subresource, &path.rest].iter().any(|part| !part.is_empty()) {
            return Err(Failure::no_such_path());
        }
        if !reads {
            return Err(Failure::method_not_supported());
        }
    }
    if !namespaced && !path.namespace.is_empty() {
        return Err(Failure::no_such_path());
    }
    Ok(())
}

/// The error of a body that is larger than [`MAX_BODY`].
pub(crate) fn too_large() -> Failure {
    Failure::too_large(format!("Request entity too large: limit is {MAX_BODY}"))
}

/// The answer to a request that fails.
pub(crate) fn refuse(failure: &Failure) -> Response<ResponseBody> {
    json(failure.code, &failure.to_value())
}

fn json(code: u16, value: &Value) -> Response<ResponseBody> {
    whole(code, Bytes::from(format!("{value}\n")))
}

fn whole(code: u16, bytes: Bytes) -> Response<ResponseBody> {
    with_type(code, bytes, "application/json")
}

fn text(code: u16, text: &'static str) -> Response<ResponseBody> {
    with_type(code, Bytes::from_static(text.as_bytes()), "text/plain; charset=utf-8")
}

/// Writes an answer in YAML instead of JSON.
fn in_yaml(response: &mut Response<ResponseBody>) {
    if response.headers().get(header::CONTENT_TYPE).is_none_or(|media| media != "application/json") {
        return;
    }
    if let Some(value) = response.body().bytes().and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok())
    {
        *response.body_mut() = ResponseBody::whole(Bytes::from(yaml::write(&value)));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
    }
}

/// The answer to a path that nobody serves.
fn page_not_found() -> Response<ResponseBody> {
    text(404, "404 page not found\n")
}

fn with_type(code: u16, bytes: Bytes, media: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(bytes));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// Quotes the text of a warning.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
