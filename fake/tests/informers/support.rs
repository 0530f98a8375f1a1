//! A server with ConfigMaps, an informer of them, and what its handlers hear.

use std::{sync::Arc, time::Duration};

use genclient_fake::{Server, Verb};
use genclient_runtime::{Event, FinalState, InformerFactory, Selector, SharedInformer, TypedClient};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::json;

/// Longer than any pause between two attempts.
pub const DEADLINE: Duration = Duration::from_secs(600);

/// A ConfigMap with a value.
pub fn map(name: &str, value: &str) -> ConfigMap {
    let value = json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "key": value } });
    serde_json::from_value(value).unwrap()
}

/// A cluster with an informer.
pub struct Cluster {
    pub server: Server,
    pub maps: TypedClient<ConfigMap>,
    pub factory: InformerFactory,
    pub informer: SharedInformer<ConfigMap>,
}

impl Cluster {
    /// A server with these maps, and an informer whose lists are read in pages, so that lists and watches are apart.
    pub fn paged(names: &[&str]) -> Self {
        Self::new(names, false)
    }

    /// A server with these maps, and an informer whose lists are streamed.
    pub fn streamed(names: &[&str]) -> Self {
        Self::new(names, true)
    }

    fn new(names: &[&str], streaming: bool) -> Self {
        let server = Server::builder().record_actions().build();
        for name in names {
            server.load(&map(name, "loaded")).unwrap();
        }
        Self::on(server, streaming)
    }

    pub fn on(server: Server, streaming: bool) -> Self {
        let factory = InformerFactory::builder(server.client())
            .tweak_list_options(|options| options.streaming_lists = streaming)
            .build();
        let informer = factory.informer::<ConfigMap>();
        let maps = TypedClient::namespaced(server.client(), "default");
        Self { server, maps, factory, informer }
    }

    /// Starts the informer and waits until it has synced and watches.
    pub async fn start(&self) {
        self.factory.start();
        self.factory.wait_for_cache_sync(DEADLINE).await.unwrap();
        self.watches().await;
        quiet().await;
    }

    /// Waits until the informer watches.
    pub async fn watches(&self) {
        until("the informer watches", || self.server.open_watches("configmaps") == 1).await;
    }

    /// Creates or replaces a map.
    pub async fn write(&self, name: &str, value: &str) -> ConfigMap {
        let map = map(name, value);
        match self.maps.create(&map).await {
            Err(error) if error.is_already_exists() => self.maps.update(&map).await.unwrap(),
            created => created.unwrap(),
        }
    }

    pub async fn delete(&self, name: &str) {
        self.maps.delete(name).await.unwrap();
    }

    /// Waits until the cache is as the server, and the handlers have heard of it.
    pub async fn settle(&self) {
        let last = self.write("last", "written").await;
        self.informer.caught_up_to(&last, DEADLINE).await.unwrap();
        quiet().await;
    }

    /// The names and values in the cache, sorted, without that of `settle`.
    pub fn cached(&self) -> Vec<String> {
        let show = |map: &Arc<ConfigMap>| {
            let name = map.metadata.name.as_deref().unwrap_or_default();
            format!("{name}={}", map.data.as_ref().map_or("", |data| data["key"].as_str()))
        };
        let mut maps: Vec<_> = self.informer.store().list(&Selector::everything()).iter().map(show).collect();
        maps.retain(|map| !map.starts_with("last="));
        maps.sort();
        maps
    }

    /// How many requests with this verb there were for the maps.
    pub fn count(&self, verb: Verb) -> usize {
        self.server.actions().of("configmaps").matching(|action| action.verb == verb).len()
    }

    /// Adds a handler that writes down what it hears.
    pub fn hear(&self) -> Heard {
        let heard = Heard::default();
        self.informer.add_event_handler(heard.handler());
        heard
    }
}

/// What a handler heard.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    pub fn handler(&self) -> impl FnMut(&Event<ConfigMap>) + Send + 'static + use<> {
        let heard = self.0.clone();
        move |event| {
            let name = event.object().metadata.name.clone().unwrap_or_default();
            if name != "last" {
                heard.lock().push(match event {
                    Event::Added { initial: true, .. } => format!("initial {name}"),
                    Event::Added { .. } => format!("added {name}"),
                    Event::Updated { cause, .. } => format!("updated {name} {cause:?}").to_lowercase(),
                    Event::Deleted { final_state: FinalState::Observed, .. } => format!("deleted {name}"),
                    Event::Deleted { .. } => format!("missing {name}"),
                });
            }
        }
    }

    /// Takes what was heard.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// Lets everything run that needs no time.
pub async fn quiet() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// Waits until something holds.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            quiet().await;
        }
    };
    tokio::time::timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("{what}"));
}
