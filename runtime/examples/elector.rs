//! A candidate for a Lease that counts while it leads.
//!
//! ```console
//! $ LEASE=default/example cargo run -p genclient-runtime --example elector
//! ```
//! Start it in two terminals and stop the one that leads: the other one takes over when the Lease expires. With
//! `WRITE_TO=http://127.0.0.1:8080/example` each number is also posted to that address. The fence refuses these writes
//! before another candidate can lead. `hack/trial` runs three such candidates and disturbs them.

use std::{env, error::Error, time::Duration};

use bytes::Bytes;
use genclient_runtime::{
    client,
    leader::{Elector, Fence, Refused},
};
use http::Request;
use http_body_util::Empty;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let lease = env::var("LEASE").unwrap_or_else(|_| "default/example".to_owned());
    let elector = Elector::builder(client::try_default().await?, lease).build()?;
    loop {
        let mut leadership = elector.acquire().await;
        println!("{} leads in term {}", elector.identity(), leadership.term());
        let work = count(elector.fence(), leadership.term());
        tokio::select! {
            lost = leadership.lost() => println!("{lost}"),
            refused = work => println!("{refused}"),
        }
    }
}

/// Counts and writes until a write is refused.
async fn count(fence: Fence, term: u64) -> Refused {
    let http = Client::builder(TokioExecutor::new()).build_http();
    let target = env::var("WRITE_TO").ok();
    let mut number = 0_u64;
    loop {
        let write = async {
            let Some(target) = &target else { return println!("{number}") };
            let request = Request::post(format!("{target}/{term}/{number}")).body(Empty::<Bytes>::new());
            if let Err(error) = http.request(request.expect("an address")).await {
                eprintln!("{error}");
            }
        };
        if let Err(refused) = fence.guard(write).await {
            return refused;
        }
        number += 1;
        sleep(Duration::from_millis(100)).await;
    }
}
