//! Ports that nobody is likely to take between choosing and binding them.

use std::net::{Ipv4Addr, TcpListener};

use crate::Error;

/// Below the range from which Linux and macOS give out ports to outgoing connections: a server that is stopped and
/// started again finds its port still free, unless another program chose to listen on just that number.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// The ports of one control plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) etcd: u16,
    pub(crate) peer: u16,
    pub(crate) apiserver: u16,
}

impl Ports {
    /// Ports that are free now.
    pub(crate) fn choose() -> Result<Self, Error> {
        Ok(Self { etcd: free_port()?, peer: free_port()?, apiserver: free_port()? })
    }
}

/// A loopback port that is free now. A server that finds it taken all the same is started again with another.
pub(crate) fn free_port() -> Result<u16, Error> {
    let mut refused = None;
    for _ in 0..100 {
        let port = rand::random_range(RANGE);
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Ok(port),
            Err(error) => refused = Some(error),
        }
    }
    let error = refused.unwrap_or_else(|| std::io::ErrorKind::AddrInUse.into());
    Err(Error::io("looking for a free port")(error))
}
