//! Injects a sidecar into new Pods: a mutating admission webhook, whose template is kept by an informer.
//!
//! It shows that a webhook is a controller, too:
//! - The template is in a ConfigMap, which an informer keeps in the cache. A review never waits for the API server, and
//!   a change of the ConfigMap is used at once.
//! - The registration with the API server is level-triggered: applied at the start, and again whenever somebody
//!   changes or deletes it.
//! - TLS needs nothing from outside. The program is its own certificate authority, tells the API server about it in
//!   the registration, and renews its certificate before it expires.
//!
//! | module | what it is |
//! | --- | --- |
//! | `inject` | decides what is injected into a Pod; pure, with its own tests |
//! | `injector` | the webhook: the template from the cache, reviews, the registration, readiness |
//! | `registration` | what the API server is told about the webhook |
//! | `admission` | serves any admission webhook over TLS; a library |
//! | `certificate` | an authority in memory, and a certificate that renews itself; a library |

mod admission;
mod certificate;
mod inject;
mod injector;
mod registration;

use std::{
    net::SocketAddr,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use clap::Parser;
use genclient_runtime::{
    Event, InformerFactory, ObjectKey, RestClient, WorkQueue,
    cli::{self, ClusterArgs, Failure, LogArgs, Shutdown},
    control_loop::ControlLoop,
    enqueue,
    k8s_openapi::api::{admissionregistration::v1::MutatingWebhookConfiguration, core::v1::ConfigMap},
};
use kubernetes_client::clientset::Clientset;
use tokio::{net::TcpListener, sync::watch};
use tracing::info;

use self::{
    certificate::Authority,
    injector::Injector,
    registration::{Endpoint, Registration},
};

/// Injects containers and volumes from a ConfigMap into new Pods.
///
/// The ConfigMap has a key `config` with the fields `containers` and `volumes` of a Pod's spec. A Pod with the annotation
/// sidecar-injector.samplecrd.k8s.io/inject "false" is left alone; with "true" it gets the sidecar, or is refused with
/// the reason. Pods are created without it while the webhook is down. GET /readyz tells whether it is ready.
///
/// The program must be allowed to get, list and watch the ConfigMap, and to get, list, watch, create and patch its
/// MutatingWebhookConfiguration. The first SIGINT or SIGTERM lets running reviews finish and ends it with 0. Run one
/// at a time: each has its own certificate authority.
#[derive(Parser)]
#[command(name = "sidecar_injector", max_term_width = 100)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    /// The ConfigMap with the template.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "default/sidecar-injector", value_parser = in_namespace)]
    config_map: ObjectKey,

    /// A namespace whose Pods are injected; may be given several times; by default it is every namespace but
    /// kube-system and those of the ConfigMap and the service.
    #[arg(long = "namespace", value_name = "NAME")]
    namespaces: Vec<String>,

    /// Inject only into Pods that ask for it in their annotation.
    #[arg(long)]
    opt_in: bool,

    /// The address to serve the webhook on; port 0 is any free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,

    /// The service through which the API server reaches the webhook, at port 443. By default the API server uses the
    /// address itself, which works on one machine.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = in_namespace)]
    service: Option<ObjectKey>,

    /// The name of the MutatingWebhookConfiguration.
    #[arg(long, value_name = "NAME", default_value = "sidecar-injector.samplecrd.k8s.io")]
    name: String,

    /// The lifetime of the server's certificate, which is renewed when two thirds of it have passed.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = cli::duration)]
    certificate_lifetime: Duration,

    #[command(flatten)]
    log: LogArgs,
}

fn in_namespace(text: &str) -> Result<ObjectKey, String> {
    let key: ObjectKey = text.parse().map_err(|error| format!("{error}"))?;
    key.namespace.is_some().then_some(key).ok_or_else(|| "it must read NAMESPACE/NAME".to_owned())
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    args.log.init(&[env!("CARGO_CRATE_NAME")]);
    cli::run(|shutdown| run(args, shutdown)).await
}

async fn run(args: Args, shutdown: Shutdown) -> Result<(), Failure> {
    let client = args.cluster.connect().await?;
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", args.listen))?;
    let address = listener.local_addr()?;
    let mut spared = vec!["kube-system".to_owned(), args.config_map.namespace.clone().unwrap_or_default()];
    let (endpoint, host) = match args.service {
        Some(key) => {
            // The program runs there, and must be able to start without itself.
            spared.extend(key.namespace.clone());
            let host = format!("{}.{}.svc", key.name, key.namespace.as_deref().unwrap_or_default());
            (Endpoint::Service(key), host)
        }
        None if address.ip().is_unspecified() => {
            return Err(
                "the API server cannot find the webhook: --listen with any address needs --service".into()
            );
        }
        None => (Endpoint::Url(format!("https://{address}/")), address.ip().to_string()),
    };
    let authority = Authority::new(vec![host], args.certificate_lifetime)?;

    let config_map_namespace = args.config_map.namespace.clone().unwrap_or_default();
    let only = |name: &str| format!("metadata.name={name}");
    let (config_map, webhook) = (only(&args.config_map.name), only(&args.name));
    let factory = InformerFactory::builder(client.clone())
        .namespace(&config_map_namespace)
        .tweak_list_options_for::<ConfigMap>(move |list| list.field_selector = Some(config_map.clone()))
        .tweak_list_options_for::<MutatingWebhookConfiguration>(move |list| {
            list.field_selector = Some(webhook.clone());
        })
        .try_build()?;
    let config_maps = factory.informer::<ConfigMap>();
    let webhooks = factory.informer::<MutatingWebhookConfiguration>();

    // There is one key: the registration. It is applied at the start, and after each change of it.
    let (queue, key) = (WorkQueue::new("registration"), ObjectKey::cluster(&args.name));
    let _ = queue.add(key.clone());
    webhooks.add_event_handler(enqueue::changed(&queue));
    let keys = queue.clone();
    config_maps.add_event_handler(move |event: &Event<ConfigMap>| {
        info!(key = %event.key(), "the template has changed");
        let _ = keys.add(key.clone());
    });

    let injector = Arc::new(Injector {
        key: args.config_map,
        config_maps: config_maps.store(),
        by_default: !args.opt_in,
        clientset: Clientset::new(RestClient::new(client).field_manager("sidecar-injector")),
        registration: Registration {
            name: args.name,
            endpoint,
            bundle: authority.bundle(),
            namespaces: args.namespaces,
            spared,
        },
        is_registered: AtomicBool::new(false),
    });
    let (stop, stopped) = watch::channel(false);
    let tls = authority.server_config()?;
    let server = tokio::spawn(admission::serve(listener, tls, injector.clone(), stopped));
    info!(%address, "serving the webhook");
    let ended = ControlLoop::new("registration", queue)
        .factory(&factory)
        .run(1, move |_| Arc::clone(&injector).register(), shutdown)
        .await;
    stop.send_replace(true);
    server.await?;
    Ok(ended?)
}
