//! A candidate for a Lease with `kube-lease-manager`, in the form of the example of `LeaseManager`.

use std::{env, error::Error, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use kube_lease_manager::LeaseManagerBuilder;
use tokio::{task::JoinHandle, time::sleep};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_ansi(false).init();
    let (lease, target) = (env::var("LEASE")?, env::var("WRITE_TO")?);
    let (namespace, name) = lease.split_once('/').ok_or("LEASE is not namespace/name")?;
    // The leader renews the Lease `grace` before it expires.
    let manager = LeaseManagerBuilder::new(kube::Client::try_default().await?, name)
        .with_namespace(namespace)
        .with_duration(15)
        .with_grace(5)
        .build()
        .await?;
    let (mut channel, _task) = manager.watch().await;
    let mut work: Option<JoinHandle<()>> = None;
    for term in 0.. {
        channel.changed().await?;
        let is_leader = *channel.borrow_and_update();
        println!("leads: {is_leader}");
        if let Some(work) = work.take() {
            work.abort();
        }
        if is_leader {
            work = Some(tokio::spawn(write(format!("{target}/{term}"))));
        }
    }
    Ok(())
}

/// Sends a write every 100 ms.
async fn write(target: String) {
    let http = Client::builder(TokioExecutor::new()).build_http();
    for sequence in 0.. {
        let request = Request::post(format!("{target}/{sequence}")).body(Empty::<Bytes>::new());
        if let Err(error) = http.request(request.expect("an address")).await {
            eprintln!("{error}");
        }
        sleep(Duration::from_millis(100)).await;
    }
}
