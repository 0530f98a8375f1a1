//! A Kubernetes API server in memory, for tests.
//!
//! The server takes the requests of any client and gives the answers of kube-apiserver 1.36: objects with versions,
//! uids and generations, lists in pages and with selectors, watches from any version, updates that conflict, patches
//! of all four types with their managed fields, finalizers, garbage collection, namespaces, CRDs with their schemas
//! and rules, and errors in the words of the real server. A suite sends the same requests to both, scenarios and
//! random sequences, and compares the answers; what may differ is listed below.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use futures::StreamExt;
//! use genclient_fake::Server;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{
//!     Api,
//!     api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams},
//! };
//! use serde_json::json;
//!
//! let server = Server::new();
//! let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
//!
//! let map = serde_json::from_value(json!({ "metadata": { "name": "example" }, "data": { "key": "value" } }))?;
//! let created = maps.create(&PostParams::default(), &map).await?;
//! let version = created.metadata.resource_version.expect("the server sets it");
//!
//! let patch = Patch::Merge(json!({ "data": { "key": "other" } }));
//! maps.patch("example", &PatchParams::default(), &patch).await?;
//!
//! // Nothing is lost between a write and a watch.
//! let mut events = maps.watch(&WatchParams::default(), &version).await?.boxed();
//! let Some(Ok(WatchEvent::Modified(seen))) = events.next().await else { panic!("the map was modified") };
//! assert_eq!(seen.data.expect("it has data")["key"], "other");
//! # Ok(())
//! # }
//! ```
//!
//! # Tests
//! A generated client has `fake::`[`Clientset`] on such a server. For a test, a server
//! * loads objects with their status and their history: [`Server::load`], [`Server::load_yaml`];
//! * records the requests that reach it: [`Server::actions`], which compare with expected [`Action`]s;
//! * makes requests fail, wait, get lost or get other answers: [`Server::on`];
//! * cuts, ends and expires watches: [`Server::cut_watches`], [`Server::end_watches`], [`Server::expire_watches`].
//!
//! With the feature `http`, the module `http` serves it to other programs on this machine, such as kubectl; the
//! feature `cli` has the program `genclient-fake serve` for that. [`Server::load_files`] loads manifests.
//!
//! # Guarantees
//! * Requests and answers are HTTP and JSON, whoever sends them: every transport calls [`Server::handle`], which records,
//!   reacts and asks [`Server::respond`]. Nothing differs by transport.
//! * Every write has its own version, and is one event. A watch shows every event after its version once and in
//!   order, until the log has dropped one that it has not read; then it ends, and the client has to list again.
//! * The pages of a list show one version, whatever is written meanwhile.
//! * No request makes the server panic.
//! * The state is in memory or, with [`Builder::data`], also in a file, from which a later server goes on. What was
//!   answered is in the file, even if the process is killed or the power fails at once.
//! * Timestamps come from a [`Clock`] that a test can move; the timeouts and bookmarks of watches and the delays of
//!   reactors follow the time of tokio, which a test can pause.
//!
//! # Differences
//! What the real control plane does, and this server does not, or does otherwise:
//!
//! | topic | difference |
//! | --- | --- |
//! | controllers | Only garbage collection, the end of namespaces and the life of CRDs: there are no pods of a Deployment, no service accounts and no `kube-root-ca.crt` in namespaces. What they do happens with the request that causes it, not a moment later. |
//! | garbage collection | An object whose owners never existed stays. |
//! | authentication, authorization, admission | Every client may do everything; a served server asks for its token first. There are no webhooks, policies, quotas and limit ranges, and no service account in pods, as if the plugin `ServiceAccount` were off. |
//! | questions | `SelfSubjectAccessReview` and the like are answered: everybody is `kubernetes-admin` and may do everything, and no token is known. |
//! | connections | `exec`, `attach`, `portforward`, `proxy` and `log` of pods are answered with 405, and so are tokens of service accounts. |
//! | versions of Kubernetes' own kinds | Events are the same in both of their groups. Other objects are not converted: `autoscaling/v1` shows the fields of `autoscaling/v2`. |
//! | versions of CRDs | The only conversion is `None`. |
//! | defaults of Kubernetes' own kinds | Those of workloads, pods, services, volumes, secrets, RBAC, policies, webhooks, storage classes and priority classes. |
//! | validation of Kubernetes' own kinds | Metadata, and what breaks most often in config maps, secrets, services, pods, workloads, leases, events, roles and bindings. Where the specification of a pod must not change, the message does not show the change. |
//! | wrong types | In `cannot unmarshal … into Go struct field X.path of type T`, `X` and `T` are guessed where they are not known. Errors of YAML are in other words. |
//! | encodings | JSON and YAML; no CBOR. Kubernetes' own kinds may be sent in protobuf, but answers are JSON. |
//! | tables | Kinds that are not in the list of [`printer`] have a name and a creation time. The columns of Kubernetes' own kinds have no descriptions. |
//! | depth | A body with more than 127 objects and lists in one another is refused; the real server takes 10,000. |
//! | OpenAPI | Version 3 only. The documents of Kubernetes' own kinds do not list the values that a field can have; see [`openapi`]. |
//! | waiting | A version that is too large is refused at once, not after three seconds. |

mod actions;
mod body;
mod clientset;
mod clock;
mod crds;
mod data;
mod decode;
mod defaults;
mod discovery;
mod garbage;
#[cfg(feature = "http")]
pub mod http;
mod json;
mod kinds;
mod load;
mod metadata;
mod names;
mod namespaces;
pub mod openapi;
pub mod printer;
mod protobuf;
mod quantity;
mod reactors;
mod request;
pub mod schema;
mod selector;
mod server;
mod service;
mod status;
mod storage;
mod table;
mod validate;
mod verbs;
mod view;
mod watch;
mod yaml;

pub use actions::{Action, Actions, Content, PatchType, Verb};
pub use body::ResponseBody;
pub use clientset::{Clientset, Generated};
pub use clock::Clock;
pub use data::DataError;
pub use load::LoadError;
pub use reactors::{Dropped, Fault, Reactor, Rule};
pub use server::{Builder, Server};
pub use service::FakeService;
