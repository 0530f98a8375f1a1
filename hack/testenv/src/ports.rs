//! Ports that other programs are unlikely to take before they are bound.

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
        let [etcd, peer, apiserver] = free_ports()?;
        Ok(Self { etcd, peer, apiserver })
    }
}

#[cfg(test)]
/// A loopback port that is free now. A server that finds it taken all the same is started again with another.
pub(crate) fn free_port() -> Result<u16, Error> {
    free_ports().map(|[port]| port)
}

/// Loopback ports that are free now, no two of them the same.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N], Error> {
    choose_from(RANGE)
}

fn choose_from<const N: usize>(range: std::ops::Range<u16>) -> Result<[u16; N], Error> {
    let mut ports = [0; N];
    // Each port is held until the last is chosen.
    let mut listeners = Vec::with_capacity(N);
    for port in &mut ports {
        let (chosen, listener) = listen(range.clone()).map_err(Error::io("looking for a free port"))?;
        *port = chosen;
        listeners.push(listener);
    }
    Ok(ports)
}

fn listen(range: std::ops::Range<u16>) -> std::io::Result<(u16, TcpListener)> {
    let mut refused = std::io::ErrorKind::AddrInUse.into();
    for _ in 0..100 {
        let port = rand::random_range(range.clone());
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => return Ok((port, listener)),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_ports_are_the_same() {
        // From three numbers the same one would come twice in seven of nine rounds.
        for start in (19_000..19_090).step_by(3) {
            let Ok([a, b, c]) = choose_from(start..start + 3) else { continue };
            assert!(a != b && b != c && a != c, "{a}, {b}, {c}");
        }
    }
}
