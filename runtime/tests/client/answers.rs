//! Errors, and responses that are not what was requested.

use std::{error::Error as _, time::Duration};

use genclient_runtime::{TypedClient, error::Cause};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::{answering, object, served_by, support::*};

#[tokio::test]
async fn an_error_names_the_verb_the_kind_and_the_object() {
    let (client, _log) = in_process(|_: Received| {
        Answer::status(409, "Conflict", "the object has been modified").header("retry-after", 3)
    });
    let client = TypedClient::<ConfigMap>::namespaced(client, "default");
    let error = client.update_status(&object("a")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot update ConfigMap/status default/a: the object has been modified (Conflict)"
    );
    assert!(error.is_conflict());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    assert!(matches!(error.source().unwrap().downcast_ref::<kube::Error>(), Some(kube::Error::Api(_))));
}

#[tokio::test]
async fn a_response_in_plain_text_is_classified_by_its_code() {
    let (client, _log) = in_process(|_: Received| Answer::text(404, "404 page not found\n"));
    let error = TypedClient::<ConfigMap>::cluster(client).get("a").await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "cannot get ConfigMap a: 404 page not found");
}

#[tokio::test]
async fn the_error_of_a_response_that_does_not_decode_names_the_field() {
    let (client, _log) = answering(invalid_config_map("a", 6));
    let error = client.get("a").await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Decode { path, .. } if path == "data.port"), "{error}");
}

#[tokio::test]
async fn a_page_of_html_is_not_an_object() {
    let (client, _log) =
        served_by(|_: Received| Answer::text(200, "<html>Log in</html>").header("content-type", "text/html"));
    let error = client.get("a").await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Decode { .. }), "{error}");
    assert!(
        error.to_string().starts_with("cannot get ConfigMap default/a: the answer does not decode"),
        "{error}"
    );
    let error = client.delete("a").await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Decode { .. }), "{error}");
}

#[tokio::test]
async fn the_content_type_of_a_response_does_not_matter() {
    for content_type in ["application/json", "text/plain; charset=utf-8", "application/octet-stream", ""] {
        let (client, _log) = served_by(move |_: Received| {
            Answer::json(config_map("a", 6)).header("content-type", content_type)
        });
        client.get("a").await.unwrap();
    }
}

#[tokio::test]
async fn a_truncated_response_is_an_error() {
    let text = config_map("a", 6).to_string();
    let (first, _) = text.split_at(text.len() / 2);
    let half = first.to_owned();
    let (client, _log) = served_by(move |_: Received| {
        let (writer, answer) = Answer::stream();
        writer.raw(half.clone());
        writer.cut();
        answer
    });
    let error = client.get("a").await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Kube(_)), "{error}");

    let half = first.to_owned();
    let (client, _log) = served_by(move |_: Received| Answer::text(200, half.clone()));
    let error = client.get("a").await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Decode { .. }), "{error}");
}

#[tokio::test]
async fn an_error_of_many_megabytes_is_classified_by_its_code() {
    let (client, _log) = served_by(|_: Received| Answer::text(404, vec![b'x'; 8 << 20]));
    let error = client.get("a").await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "cannot get ConfigMap default/a: the server answered with HTTP status 404");
}

#[tokio::test]
async fn an_object_of_many_megabytes_is_read() {
    let mut large = config_map("a", 6);
    large["data"]["text"] = json!("x".repeat(32 << 20));
    let (client, _log) = answering(large);
    assert_eq!(client.get("a").await.unwrap().data.unwrap()["text"].len(), 32 << 20);
}

#[tokio::test]
async fn a_dropped_request_closes_its_connection() {
    let (writer, answer) = Answer::stream();
    let server = ScriptedServer::start(script([answer])).await;
    let client = TypedClient::<ConfigMap>::namespaced(server.client(), "default");
    let request = tokio::spawn(client.get("a").into_future());
    while server.log().len() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    request.abort();
    writer.closed().await;
}
