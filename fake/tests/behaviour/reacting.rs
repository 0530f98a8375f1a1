//! Reactors: requests that fail, wait, or get other answers.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use genclient_fake::{Fault, Server, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Error,
    api::{ListParams, PostParams, WatchEvent, WatchParams},
    core::Status,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{CONFIG_MAPS, Requests};

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
}

fn maps(server: &Server) -> Api<ConfigMap> {
    Api::namespaced(server.client(), "default")
}

async fn create(server: &Server, name: &str) -> Result<ConfigMap, Error> {
    maps(server).create(&PostParams::default(), &map(name)).await
}

fn status(error: Error) -> Status {
    match error {
        Error::Api(status) => *status,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_nth_call_of_a_verb_on_a_kind_fails_and_no_other() {
    let server = Server::new();
    let reactor = server.on(Verb::Create, "configmaps").nth(2).fail(Fault::conflict());
    create(&server, "a").await.unwrap();
    maps(&server).get("a").await.unwrap();
    let refused = status(create(&server, "b").await.unwrap_err());
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        refused.message,
        "Operation cannot be fulfilled on configmaps \"b\": the object has been modified; please apply your changes \
         to the latest version and try again"
    );
    assert_eq!(server.get(&format!("{CONFIG_MAPS}/b")).0, 404, "nothing was written");
    create(&server, "b").await.unwrap();
    assert_eq!((reactor.seen(), reactor.acted()), (3, 1));
}

#[tokio::test]
async fn calls_are_chosen_by_number_namespace_name_and_condition() {
    let server = Server::new();
    let outcomes = async |names: &[&str]| {
        let mut outcomes = Vec::new();
        for name in names {
            outcomes.push(maps(&server).get_opt(name).await.is_ok());
        }
        server.clear_reactors();
        outcomes
    };
    let fault = Fault::unavailable;
    server.on(Verb::Get, "configmaps").once().fail(fault());
    assert_eq!(outcomes(&["a", "a", "a"]).await, [false, true, true]);
    server.on(Verb::Get, "configmaps").times(2).fail(fault());
    assert_eq!(outcomes(&["a", "a", "a"]).await, [false, false, true]);
    server.on(Verb::Get, "configmaps").after(2).fail(fault());
    assert_eq!(outcomes(&["a", "a", "a"]).await, [true, true, false]);
    server.on_any("*").name("b").fail(fault());
    assert_eq!(outcomes(&["a", "b", "c"]).await, [true, false, true]);
    server.on_any("configmaps").namespace("other").fail(fault());
    assert_eq!(outcomes(&["a"]).await, [true]);
    server.on_any("configmaps").when(|action| action.name == "c").nth(2).fail(fault());
    assert_eq!(outcomes(&["c", "a", "c", "c"]).await, [true, true, false, true]);
    server.on_any("pods").fail(fault());
    server.on_any("configmaps/status").fail(fault());
    server.on_any("configmaps").fail(fault()).remove();
    assert_eq!(outcomes(&["a"]).await, [true]);
}

#[tokio::test]
async fn the_usual_errors_are_in_the_words_of_the_server() {
    let server = Server::new();
    let failing = async |fault: Fault| {
        server.on(Verb::Get, "configmaps").once().fail(fault);
        let status = status(maps(&server).get("a").await.unwrap_err());
        server.clear_reactors();
        (status.code, status.reason, status.message)
    };
    let expect = |code: u16, reason: &str, message: &str| (code, reason.to_owned(), message.to_owned());
    assert_eq!(failing(Fault::not_found()).await, expect(404, "NotFound", "configmaps \"a\" not found"));
    assert_eq!(
        failing(Fault::forbidden()).await,
        expect(
            403,
            "Forbidden",
            "configmaps \"a\" is forbidden: User \"fake\" cannot get resource \"configmaps\" in API group \"\" in the \
             namespace \"default\""
        )
    );
    assert_eq!(
        failing(Fault::internal_error("a disk is full")).await,
        expect(500, "InternalError", "Internal error occurred: a disk is full")
    );
    assert_eq!(failing(Fault::timeout()).await.0, 504);
    assert_eq!(failing(Fault::expired()).await.1, "Expired");
    assert_eq!(failing(Fault::already_exists()).await.1, "AlreadyExists");
    assert_eq!(failing(Fault::invalid("spec: Required value")).await.0, 422);
    assert_eq!(failing(Fault::unauthorized()).await.0, 401);
    let own = Status::failure("short and stout", "Teapot").with_code(418);
    assert_eq!(failing(own.into()).await, expect(418, "Teapot", "short and stout"));
}

#[tokio::test]
async fn too_many_requests_say_how_long_to_wait() {
    let server = Server::new();
    server.on_any("*").fail(Fault::too_many_requests(Duration::from_millis(1500)));
    let request = http::Request::get(CONFIG_MAPS).body(bytes::Bytes::new()).unwrap();
    let response = server.handle(request).await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "2");
    let body: Value = serde_json::from_slice(response.body().bytes().unwrap()).unwrap();
    assert_eq!(body["details"]["retryAfterSeconds"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_delay_follows_the_time_of_tokio() {
    let server = Server::new();
    server.on(Verb::Create, "configmaps").nth(1).delay(Duration::from_secs(3600));
    let start = Instant::now();
    create(&server, "a").await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 3600);
    create(&server, "b").await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 3600);
}

#[tokio::test]
async fn a_dropped_connection_writes_nothing_and_a_lost_answer_does() {
    let server = Server::new();
    server.on(Verb::Create, "configmaps").nth(1).drop_connection();
    server.on(Verb::Create, "configmaps").nth(2).lose_answer();
    let error = create(&server, "a").await.unwrap_err();
    assert!(matches!(error, Error::Service(_)), "{error}");
    assert_eq!(server.get(&format!("{CONFIG_MAPS}/a")).0, 404);
    create(&server, "a").await.unwrap_err();
    assert_eq!(server.get(&format!("{CONFIG_MAPS}/a")).0, 200);
}

#[tokio::test]
async fn somebody_else_can_write_between_a_read_and_a_write() {
    let server = Server::new();
    let read = create(&server, "a").await.unwrap();
    server.on(Verb::Update, "configmaps").once().then(|server, action| {
        let path = format!("{CONFIG_MAPS}/{}", action.name);
        assert_eq!(server.merge(&path, json!({ "data": { "by": "somebody else" } })).0, 200);
    });
    let update = maps(&server).replace("a", &PostParams::default(), &read).await;
    assert_eq!(status(update.unwrap_err()).reason, "Conflict");
}

#[tokio::test]
async fn an_answer_is_changed_or_replaced() {
    let server = Server::new();
    create(&server, "a").await.unwrap();
    server.on(Verb::Get, "configmaps").times(1).change(|map| map["data"] = json!({ "key": "changed" }));
    let read = maps(&server).get("a").await.unwrap();
    assert_eq!(read.data.unwrap()["key"], "changed");
    assert_eq!(maps(&server).get("a").await.unwrap().data, None);
    server.on(Verb::List, "configmaps").answer(|_| http::Response::new("no JSON at all".into()));
    assert!(maps(&server).list(&ListParams::default()).await.is_err());
}

#[tokio::test]
async fn reactors_act_in_their_order_until_one_answers() {
    let server = Server::new();
    server.on_any("configmaps").then(|server, _| {
        server.load(&map("seen")).unwrap();
    });
    let first = server.on_any("configmaps").fail(Fault::timeout());
    let second = server.on_any("configmaps").fail(Fault::conflict());
    assert_eq!(status(create(&server, "a").await.unwrap_err()).reason, "Timeout");
    assert_eq!(server.get(&format!("{CONFIG_MAPS}/seen")).0, 200);
    assert_eq!((first.acted(), second.acted()), (1, 1), "every reactor counts what it matches");
}

#[tokio::test]
async fn opening_a_watch_fails_like_any_request() {
    let server = Server::new();
    server.on(Verb::Watch, "configmaps").once().fail(Fault::expired());
    let opened = maps(&server).watch(&WatchParams::default(), "1").await;
    assert_eq!(status(opened.err().unwrap()).code, 410);
    assert!(maps(&server).watch(&WatchParams::default(), "0").await.is_ok());
}

#[tokio::test]
async fn open_watches_are_cut_ended_or_expired() {
    let server = Server::new();
    create(&server, "a").await.unwrap();
    let open = async || maps(&server).watch(&WatchParams::default(), "0").await.unwrap().boxed();
    let mut watch = open().await;
    assert!(matches!(watch.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    assert_eq!(server.open_watches("configmaps"), 1);
    assert_eq!((server.cut_watches("pods"), server.cut_watches("configmaps")), (0, 1));
    assert!(watch.try_next().await.is_err(), "the connection breaks");

    let mut watch = open().await;
    watch.next().await;
    // It is woken while it waits for an event.
    let waiting = tokio::spawn(async move { watch.next().await.is_none() });
    tokio::task::yield_now().await;
    server.end_watches("*");
    assert!(waiting.await.unwrap());

    let mut watch = open().await;
    watch.next().await;
    server.expire_watches("configmaps");
    match watch.try_next().await {
        Ok(Some(WatchEvent::Error(status))) => assert_eq!(status.code, 410),
        other => panic!("{other:?}"),
    }
    assert!(watch.next().await.is_none());
    drop(watch);
    assert_eq!(server.open_watches("*"), 0);
}

#[tokio::test]
async fn the_nth_watch_is_cut_after_some_events() {
    let server = Server::new();
    server.on(Verb::Watch, "configmaps").nth(1).cut_after(2);
    server.on(Verb::Watch, "configmaps").nth(2).expire_after(0);
    for name in ["a", "b", "c"] {
        create(&server, name).await.unwrap();
    }
    let mut watch = maps(&server).watch(&WatchParams::default(), "0").await.unwrap().boxed();
    let mut seen = Vec::new();
    while let Ok(Some(WatchEvent::Added(map))) = watch.try_next().await {
        seen.push(map.metadata.name.unwrap());
    }
    assert_eq!(seen, ["a", "b"]);
    let mut watch = maps(&server).watch(&WatchParams::default(), "0").await.unwrap().boxed();
    assert!(matches!(watch.try_next().await, Ok(Some(WatchEvent::Error(_)))));
}
