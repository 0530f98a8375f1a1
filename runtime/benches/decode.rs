//! Decoding a list: a reflector over a client that answers from memory.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use divan::{Bencher, counter::ItemsCount};
use genclient_runtime::reflector::{Delta, DeltaSink, Reflector, ReflectorConfig, SinkClosed};
use http::{Request, Response};
use http_body_util::Full;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, client::Body};
use tokio::runtime::Runtime;

const OBJECTS: usize = 1000;

fn main() {
    divan::main();
}

fn object(number: usize) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"app-{}","tier":"one"}},"managedFields":[{{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{".":{{}},"f:key":{{}}}},"f:metadata":{{"f:labels":{{".":{{}},"f:app":{{}},"f:tier":{{}}}}}}}},"manager":"kubectl","operation":"Update","time":"2026-01-01T00:00:00Z"}}],"name":"object-{number:07}","namespace":"default","resourceVersion":"{}","uid":"00000000-0000-4000-8000-{number:012}"}},"data":{{"key":"value"}}}}"#,
        number % 100,
        number + 1,
    )
}

fn page() -> Bytes {
    let items: Vec<_> = (0..OBJECTS).map(object).collect();
    let head = r#"{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"1000"},"items":["#;
    format!("{head}{}]}}", items.join(",")).into()
}

fn stream() -> Bytes {
    let mut lines: String = (0..OBJECTS)
        .map(|number| format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", object(number)))
        .collect();
    lines.push_str(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1000","annotations":{"k8s.io/initial-events-end":"true"}}}}"#);
    lines.push('\n');
    lines.into()
}

/// Receives the first list, and closes.
struct First<'a>(&'a mut usize);

impl DeltaSink<ConfigMap> for First<'_> {
    async fn send(&mut self, batch: Vec<Delta<ConfigMap>>) -> Result<(), SinkClosed> {
        for delta in batch {
            if let Delta::Replace { objects, .. } = delta {
                *self.0 = objects.len();
            }
        }
        Err(SinkClosed)
    }
}

fn read(runtime: &Runtime, body: &Bytes, config: Arc<dyn Fn() -> ReflectorConfig<ConfigMap>>) {
    runtime.block_on(async {
        let body = body.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            let body = body.clone();
            async move { Ok::<_, Infallible>(Response::new(Full::new(body))) }
        });
        let mut objects = 0;
        Reflector::new(Client::new(service, "default"), config()).run(First(&mut objects)).await;
        assert_eq!(objects, OBJECTS);
    });
}

fn bench(bencher: Bencher<'_, '_>, body: Bytes, streaming: bool, keep_managed_fields: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime needs no resources");
    let config: Arc<dyn Fn() -> ReflectorConfig<ConfigMap>> = Arc::new(move || {
        let mut config = ReflectorConfig::default();
        config.list.streaming_lists = streaming;
        config.keep_managed_fields = keep_managed_fields;
        config
    });
    bencher.counter(ItemsCount::new(OBJECTS)).bench_local(|| read(&runtime, &body, config.clone()));
}

#[divan::bench]
fn a_page(bencher: Bencher<'_, '_>) {
    bench(bencher, page(), false, false);
}

#[divan::bench]
fn a_streamed_list(bencher: Bencher<'_, '_>) {
    bench(bencher, stream(), true, false);
}

#[divan::bench]
fn a_streamed_list_with_managed_fields(bencher: Bencher<'_, '_>) {
    bench(bencher, stream(), true, true);
}
