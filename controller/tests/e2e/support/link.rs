//! The network between a controller and its API server, which a test cuts, silences and slows down.

use std::{io, time::Duration};

use genclient_testenv::TestEnv;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep_until},
};

/// What becomes of the bytes on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// They arrive.
    Flows,
    /// They arrive so much later.
    Late(Duration),
    /// They arrive when the traffic flows again.
    Waits,
    /// All connections are broken, and new ones end at once.
    Cut,
}

/// A relay on a port of its own. Dropping it breaks its connections.
pub struct Link {
    /// The address of the API server behind it.
    pub url: String,
    traffic: watch::Sender<Traffic>,
    server: JoinHandle<()>,
}

impl Link {
    pub async fn start(env: &TestEnv) -> Self {
        let target = env.config().cluster_url.authority().unwrap().to_string();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let (traffic, states) = watch::channel(Traffic::Flows);
        let server = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                if *states.borrow() != Traffic::Cut {
                    connections.spawn(relay(client, target.clone(), states.clone()));
                }
            }
        });
        Self { url, traffic, server }
    }

    pub fn set(&self, traffic: Traffic) {
        self.traffic.send_replace(traffic);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Carries bytes both ways until both ends have closed the connection, or until the link is cut.
async fn relay(client: TcpStream, target: String, traffic: watch::Receiver<Traffic>) {
    let mut states = traffic.clone();
    let carried = async {
        let Ok(server) = TcpStream::connect(target).await else { return };
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        tokio::join!(
            carry(from_client, to_server, traffic.clone()),
            carry(from_server, to_client, traffic.clone())
        );
    };
    tokio::select! {
        () = carried => {}
        _ = states.wait_for(|traffic| *traffic == Traffic::Cut) => {}
    }
}

/// Carries bytes one way. They are read at once, also while they wait, so that the sender is not held up.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut traffic: watch::Receiver<Traffic>) {
    let (sender, mut chunks) = mpsc::unbounded_channel();
    let reading = async move {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer).await
            && sender.send((Instant::now(), buffer[..length].to_vec())).is_ok()
        {}
    };
    let writing = async move {
        while let Some((read, chunk)) = chunks.recv().await {
            passes(read, &mut traffic).await;
            to.write_all(&chunk).await?;
        }
        io::Result::Ok(())
    };
    // If the receiver is gone, the next chunk ends the reading, too.
    let _ = tokio::join!(reading, writing);
}

/// Waits until bytes that were read at this time may go on.
async fn passes(read: Instant, traffic: &mut watch::Receiver<Traffic>) {
    loop {
        let until = match *traffic.borrow_and_update() {
            Traffic::Flows => return,
            Traffic::Late(delay) => Some(read + delay),
            Traffic::Waits | Traffic::Cut => None,
        };
        let in_time = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = in_time => return,
            changed = traffic.changed() => if changed.is_err() { return },
        }
    }
}
