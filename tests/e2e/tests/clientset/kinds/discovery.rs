//! What the server says of itself, compared with what the generator's table says of it.

use std::{collections::BTreeSet, path::PathBuf, process::Command};

use genclient::{
    config::Config,
    kubernetes::{Served, served},
    model,
    source::{Folder, Packages, Sources},
};
use genclient_runtime::Client;
use genclient_testenv::require_servers;

use super::cluster;

/// Everything that the server lists in its discovery documents, apart from aggregated servers and CRDs.
pub async fn resources(client: &Client) -> BTreeSet<Served> {
    let mut found = BTreeSet::new();
    let core = client.list_core_api_resources("v1").await.expect("the core group is listed");
    let mut lists = vec![core];
    for group in client.list_api_groups().await.expect("the groups are listed").groups {
        for version in group.versions {
            // A group may come and go while other tests run.
            if !group.name.ends_with(".example.com") {
                let list = client.list_api_group_resources(&version.group_version).await;
                lists.push(list.expect("the resources of a group are listed"));
            }
        }
    }
    for list in lists {
        for resource in list.resources {
            found.insert(Served {
                api_version: list.group_version.clone(),
                name: resource.name,
                namespaced: resource.namespaced,
                verbs: resource.verbs.into_iter().collect(),
            });
        }
    }
    found
}

/// What the table and the types of k8s-openapi say of a version of Kubernetes.
fn expected(version: &str) -> BTreeSet<Served> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packages =
        Packages::parse(&String::from_utf8_lossy(&output.stdout)).expect("the metadata is what it was");
    let config = format!("[[client]]\noutput = \"out\"\nsources = [{{ kubernetes = {version:?} }}]\n");
    let config = Config::parse(&config).expect("the configuration is one");
    let here = Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    let sources = Sources::load(&here, &config.clients[0].sources, &packages);
    served(&model(&sources).expect("the version is there"))
}

#[tokio::test]
async fn the_table_says_what_the_discovery_document_says_and_nothing_else() {
    require_servers!(ControlPlane);
    let client = cluster().await.client().expect("the administrator has a client");
    let version = client.apiserver_version().await.expect("the server has a version");
    let minor = version.minor.trim_end_matches('+');
    let (expected, found) = (expected(&format!("{}.{minor}", version.major)), resources(&client).await);
    let missing: Vec<_> = expected.difference(&found).collect();
    let unknown: Vec<_> = found.difference(&expected).collect();
    assert!(missing.is_empty(), "the table has what the server does not serve: {missing:#?}");
    assert!(unknown.is_empty(), "the server serves what the table does not have: {unknown:#?}");
    println!("{} resources and subresources are the same", found.len());
}
