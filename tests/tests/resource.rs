//! The constants that the derive writes: paths, plurals, scopes, groups.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use fixture_apis::{core, group_names, lengths, names, plurals, protected, shapes, versions};
use genclient_runtime::{CustomResourceExt, GroupVersionResource, meta::KindList};
use k8s_openapi::{ListableResource, Metadata};
use kube::Resource;

#[test]
fn the_core_group_is_under_api_and_the_others_under_apis() {
    assert_eq!(core::Parcel::url_path(&(), Some("default")), "/api/v1/namespaces/default/parcels");
    assert_eq!(core::Parcel::url_path(&(), None), "/api/v1/parcels");
    assert_eq!(
        shapes::Plain::url_path(&(), Some("default")),
        "/apis/shapes.example.com/v1/namespaces/default/plains"
    );
    assert_eq!(shapes::Planet::url_path(&(), None), "/apis/shapes.example.com/v1/planets");
    assert_eq!(
        group_names::hyphen::Dashed::url_path(&(), Some("a")),
        "/apis/hyphen-ated.example.com/v1-beta/namespaces/a/dashed-things"
    );
}

#[test]
fn plurals_follow_english_unless_one_is_given() {
    let plural = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    assert_eq!(plural(&plurals::Ingress::url_path(&(), None)), "ingresses");
    assert_eq!(plural(&plurals::NetworkPolicy::url_path(&(), None)), "networkpolicies");
    assert_eq!(plural(&plurals::Gateway::url_path(&(), None)), "gateways");
    assert_eq!(plural(&plurals::Endpoints::url_path(&(), None)), "endpoints");
    assert_eq!(plural(&plurals::VPCPeering::url_path(&(), None)), "vpcpeerings");
    assert_eq!(plural(&plurals::Datum::url_path(&(), None)), "data");
    assert_eq!(plural(&names::Status::url_path(&(), None)), "statuses");
    assert_eq!(plurals::Datum::crd_name(), "data.plurals.example.com");
    assert_eq!(plurals::Datum::crd().spec.names.plural, "data");
}

#[test]
fn a_module_with_a_group_version_qualifies_kinds_and_resources() {
    assert_eq!((shapes::GROUP, shapes::VERSION), ("shapes.example.com", "v1"));
    assert_eq!(shapes::API_VERSION, "shapes.example.com/v1");
    assert_eq!((core::GROUP, core::API_VERSION), ("", "v1"));
    assert_eq!(shapes::kind("Plain").to_string(), "Plain.shapes.example.com");
    assert_eq!(shapes::resource("plains").to_string(), "plains.shapes.example.com");
}

#[test]
fn a_module_can_share_its_parents_version() {
    assert_eq!(fixture_apis::facade::inner::Inner::api_version(&()), "nested.example.com/v1");
    assert_eq!(fixture_apis::given::Concealed::api_version(&()), "nested.example.com/v1beta1");
}

#[test]
fn a_list_knows_its_items() {
    fn items<L: KindList>(list: L) -> usize {
        list.into_items().len()
    }
    let list = shapes::PlainList { metadata: Default::default(), items: Vec::new() };
    assert_eq!(list.metadata().resource_version, None);
    assert_eq!(items(list), 0);
    assert_eq!(shapes::Plain::LIST_KIND, "PlainList");
}

#[test]
fn the_longest_names_stay_within_the_servers_limits() {
    type Longest = lengths::Kindindindindindindindindindindindindindindindindindindindx;
    assert_eq!(Longest::crd_name().len(), 253);
    assert_eq!(Longest::LIST_KIND.len(), 63);
    assert!(Longest::plural(&()).len() <= 63);
}

#[test]
fn scopes_and_status_reach_the_crd() {
    assert_eq!(shapes::Plain::crd().spec.scope, "Namespaced");
    assert_eq!(shapes::Planet::crd().spec.scope, "Cluster");
    let subresources = |crd: k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition| {
        crd.spec.versions[0].subresources.clone()
    };
    assert!(subresources(shapes::Plain::crd()).is_none());
    assert!(subresources(shapes::Reported::crd()).unwrap().status.is_some());
    assert!(subresources(shapes::Silent::crd()).is_none());
    assert!(subresources(versions::v1::Gauge::crd()).unwrap().status.is_some());
}

#[test]
fn a_kind_that_is_served_by_something_else_needs_no_schema() {
    assert_eq!(protected::Aggregated::kind(&()), "Aggregated");
}

/// A connection that nobody is at the other end of.
fn nowhere() -> kube::Client {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::empty()))
    });
    kube::Client::new(service, "default")
}

#[tokio::test]
async fn the_factory_finds_an_informer_by_its_plural() {
    let clientset = fixture_client::clientset::Clientset::new(nowhere());
    let factory = fixture_client::informers::SharedInformerFactory::builder(clientset).build();
    let informer =
        |group, version, resource| factory.for_resource(&GroupVersionResource::gvr(group, version, resource));
    assert!(informer("plurals.example.com", "v1", "data").is_ok());
    assert!(informer("", "v1", "parcels").is_ok());
    assert!(informer("verbs.example.com", "v1", "onlygets").is_err());
    let error = informer("plurals.example.com", "v1", "datums").err().unwrap();
    assert!(error.to_string().contains("datums"), "{error}");
}

#[tokio::test]
async fn the_clientset_leads_to_every_kind_under_its_own_name() {
    let clientset = fixture_client::clientset::Clientset::new(nowhere());
    assert_eq!(
        clientset.example_test_v1().samples("a").api().resource_url(),
        "/apis/example.test.io/v1/namespaces/a/samples"
    );
    assert_eq!(
        clientset.example_dev_v1().samples("a").api().resource_url(),
        "/apis/example.dev.io/v1/namespaces/a/samples"
    );
    assert_eq!(
        clientset.elder_v1().twins("a").api().resource_url(),
        "/apis/twin.test.io/v1/namespaces/a/twins"
    );
    assert_eq!(
        clientset.twin_v1().twins("a").api().resource_url(),
        "/apis/twin.dev.io/v1/namespaces/a/twins"
    );
    assert_eq!(clientset.core_v1().parcels("a").api().resource_url(), "/api/v1/namespaces/a/parcels");
    assert_eq!(
        clientset.type_v1().letters("a").api().resource_url(),
        "/apis/type.example.com/v1/namespaces/a/letters"
    );
    assert_eq!(
        clientset.group_3d_v1().models("a").api().resource_url(),
        "/apis/3d.example.com/v1/namespaces/a/models"
    );
    assert_eq!(
        clientset.hyphen_ated_v1_beta().dashed_things("a").api().resource_url(),
        "/apis/hyphen-ated.example.com/v1-beta/namespaces/a/dashed-things"
    );
    assert_eq!(clientset.shapes_v1().planets().api().resource_url(), "/apis/shapes.example.com/v1/planets");
    assert_eq!(
        clientset.names_v1().types("a").api().resource_url(),
        "/apis/names.example.com/v1/namespaces/a/types"
    );
    assert_eq!(
        clientset.plurals_v1().vpc_peerings("a").api().resource_url(),
        "/apis/plurals.example.com/v1/namespaces/a/vpcpeerings"
    );
    assert_eq!(
        clientset.extra_v1().extras("a").api().resource_url(),
        "/apis/extra.example.com/v1/namespaces/a/extras"
    );
}
