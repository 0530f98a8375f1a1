//! A candidate for a Lease with `kube-leader-election`, in the form of its example `shared-lease`.

use std::{
    env,
    error::Error,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use kube_leader_election::{LeaseLock, LeaseLockParams, LeaseLockResult};
use rand::RngExt as _;
use tokio::time::sleep;

/// The number of the term, or zero if this process does not lead.
static TERM: AtomicU64 = AtomicU64::new(0);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_ansi(false).init();
    let (lease, target) = (env::var("LEASE")?, env::var("WRITE_TO")?);
    let (namespace, name) = lease.split_once('/').ok_or("LEASE is not namespace/name")?;
    let params = LeaseLockParams {
        holder_id: format!("candidate-{:08x}", rand::rng().random::<u32>()),
        lease_name: name.to_owned(),
        lease_ttl: Duration::from_secs(15),
    };
    let lock = LeaseLock::new(kube::Client::try_default().await?, namespace, params);
    tokio::spawn(elect(lock));

    // Sends a write every 100 ms.
    let http = Client::builder(TokioExecutor::new()).build_http();
    for sequence in 0_u64.. {
        let term = TERM.load(Ordering::Relaxed);
        if term != 0 {
            let request = Request::post(format!("{target}/{term}/{sequence}")).body(Empty::<Bytes>::new());
            if let Err(error) = http.request(request?).await {
                eprintln!("{error}");
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Acquires and renews the Lease every five seconds, which the documentation advises for one of 15 seconds.
async fn elect(lock: LeaseLock) {
    let mut terms = 0;
    loop {
        match lock.try_acquire_or_renew().await {
            Ok(LeaseLockResult::Acquired(_)) if TERM.load(Ordering::Relaxed) == 0 => {
                terms += 1;
                TERM.store(terms, Ordering::Relaxed);
                println!("leads");
            }
            Ok(LeaseLockResult::Acquired(_)) => {}
            Ok(LeaseLockResult::NotAcquired(_)) => TERM.store(0, Ordering::Relaxed),
            Err(error) => eprintln!("{error}"),
        }
        sleep(Duration::from_secs(5)).await;
    }
}
