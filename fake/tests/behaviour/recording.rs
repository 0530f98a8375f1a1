//! Actions: what reached the server.

use genclient_fake::{Action, Content, Fault, PatchType, Server, Verb};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams},
};
use serde_json::json;

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
}

fn recording() -> (Server, Api<ConfigMap>) {
    let server = Server::builder().record_actions().build();
    let maps = Api::namespaced(server.client(), "default");
    (server, maps)
}

#[tokio::test]
async fn every_verb_is_recorded_in_order_whatever_the_answer() {
    let (server, maps) = recording();
    let created = maps.create(&PostParams::default(), &map("a")).await.unwrap();
    assert!(maps.get("missing").await.is_err());
    maps.list(&ListParams::default().labels("app=web").fields("metadata.name=a")).await.unwrap();
    let _watch = maps.watch(&WatchParams::default(), "0").await.unwrap();
    maps.replace("a", &PostParams::default(), &created).await.unwrap();
    let patch = json!({ "data": { "key": "value" } });
    maps.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    maps.patch("a", &PatchParams::apply("test").force().dry_run(), &Patch::Apply(&config)).await.unwrap();
    maps.delete("a", &DeleteParams::foreground()).await.unwrap();
    maps.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    Api::<ConfigMap>::all(server.client()).list(&ListParams::default()).await.unwrap();
    let foreground = json!({ "propagationPolicy": "Foreground" });
    assert_eq!(
        server.actions(),
        [
            Action::create("default", &map("a")),
            Action::get::<ConfigMap>("default", "missing"),
            Action::list::<ConfigMap>("default").labels("app=web").fields("metadata.name=a"),
            Action::watch::<ConfigMap>("default"),
            Action::update("default", &created),
            Action::patch::<ConfigMap>("default", "a", PatchType::Merge, &patch),
            Action::patch::<ConfigMap>("default", "a", PatchType::Apply, &config).force().dry_run(),
            Action::delete::<ConfigMap>("default", "a").options(&foreground),
            Action::delete_collection::<ConfigMap>("default"),
            Action::list::<ConfigMap>(""),
        ]
    );
    let verbs: Vec<_> = server.actions().writes().iter().map(|action| action.verb).collect();
    let expected =
        [Verb::Create, Verb::Update, Verb::Patch, Verb::Patch, Verb::Delete, Verb::DeleteCollection];
    assert_eq!(verbs, expected);
    server.clear_actions();
    assert_eq!(server.actions(), []);
}

#[tokio::test]
async fn a_request_that_a_reactor_fails_is_recorded_too() {
    let (server, maps) = recording();
    server.on(Verb::Create, "configmaps").fail(Fault::forbidden());
    maps.create(&PostParams::default(), &map("a")).await.unwrap_err();
    assert_eq!(server.actions(), [Action::create("default", &map("a"))]);
}

#[tokio::test]
async fn subresources_and_groups_are_a_part_of_an_action() {
    let server = Server::builder().record_actions().build();
    let deployments: Api<Deployment> = Api::namespaced(server.client(), "shop");
    deployments.get_scale("web").await.unwrap_err();
    let expected = Action::new(Verb::Get, "apps/v1", "deployments").namespace("shop").name("web");
    assert_eq!(server.actions(), [expected.subresource("scale")]);
    assert_eq!(server.actions().of("deployments.apps").len(), 1);
    assert_eq!(server.actions().of("deployments").len(), 1);
    assert_eq!(server.actions().of("pods").len(), 0);
    assert_eq!(server.actions()[0].to_string(), "get apps/v1 deployments/scale shop/web");
}

#[tokio::test]
async fn loading_and_discovery_are_no_actions() {
    let (server, _) = recording();
    server.load(&map("a")).unwrap();
    server.client().apiserver_version().await.unwrap();
    server.client().list_api_groups().await.unwrap();
    assert_eq!(server.actions(), []);
}

#[tokio::test]
async fn a_difference_is_shown_line_by_line() {
    let (server, maps) = recording();
    maps.create(&PostParams::default(), &map("a")).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let mut expected = map("a");
    expected.data = Some([("key".to_owned(), "value".to_owned())].into());
    let expected = [Action::create("default", &expected)];
    let actions = server.actions();
    assert_ne!(actions, expected);
    let panic = std::panic::catch_unwind(|| actions.assert_eq(expected)).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    let expected = r#"the actions are not the expected ones (-expected, +found):
     create v1 configmaps default/
         {
           "apiVersion": "v1",
-          "data": {
-            "key": "value"
-          },
           "kind": "ConfigMap",
           "metadata": {
             "name": "a"
           }
         }
+    delete v1 configmaps default/a
"#;
    assert_eq!(text, expected);
    // What `assert_eq!` prints has one line for each action, and the bodies under them.
    let printed = format!("{:?}", server.actions());
    assert!(printed.starts_with("[\n    create v1 configmaps default/\n        {\n"), "{printed}");
    assert!(printed.ends_with(", \n    delete v1 configmaps default/a]"), "{printed}");
    assert_eq!(
        server.actions().to_string(),
        "create v1 configmaps default/\ndelete v1 configmaps default/a\n"
    );
}

#[tokio::test]
async fn recording_is_bounded_and_an_incomplete_list_equals_no_expectation() {
    let (server, maps) = recording();
    for _ in 0..10_001 {
        maps.get_opt("a").await.unwrap();
    }
    let actions = server.actions();
    assert_eq!((actions.len(), actions.dropped()), (10_000, 1));
    assert_ne!(actions, vec![Action::get::<ConfigMap>("default", "a"); 10_000]);
}

#[tokio::test]
async fn a_server_records_only_if_it_is_told_to() {
    let server = Server::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    maps.get_opt("a").await.unwrap();
    let silent = server.clone();
    let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| silent.actions()));
    assert!(asked.is_err(), "no actions and none recorded are not the same");
    server.record_actions(true);
    assert_eq!(server.actions(), []);
    maps.create(&PostParams::default(), &map("b")).await.unwrap();
    let Some(Content::Object(sent)) = &server.actions()[0].content else { panic!("it has an object") };
    assert_eq!(sent["metadata"]["name"], "b");
}
