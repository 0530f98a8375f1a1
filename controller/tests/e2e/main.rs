//! The controller's program as users run it, against a real API server and a real Neutron.
//!
//! | module | what it shows |
//! | --- | --- |
//! | `walkthrough` | a Network from its CRD to its deletion, step by step with kubectl |
//! | `restarts` | the controller killed between any two steps |
//! | `replicas` | several controllers with one Lease, killed, stopped and cut off: one of them works at a time |
//! | `faults` | an API server, a Neutron or a Keystone in trouble |
//! | `drift` | changes behind the controller's back, and networks of others |
//! | `ownership` | other clusters, other installations, objects that only seem gone |
//! | `specs` | what cannot be made real, what Neutron refuses, what cannot be read, and IPv6 |
//! | `embedded` | the same program without a cluster: its own, the demo, and the state in a file |
//! | `program` | signals, exit codes, messages |
//! | `examples` | the programs in `controller/examples` |
//! | `churn` | many writers, many changes, sudden deaths: the provider ends as desired |
//!
//! The churn has small numbers by default, such as 8 kills among 20 names. With `GENCLIENT_LONG=1`, which
//! `hack/test.sh --long` sets, it has the full ones: 50 kills among at least 500 objects. The trial of the replicas then
//! takes ten minutes, in which the API server and etcd fail as well, instead of one and a half.

mod churn;
mod drift;
#[cfg(feature = "embedded")]
mod embedded;
mod examples;
mod faults;
mod ownership;
mod program;
mod replicas;
mod restarts;
mod specs;
mod support;
mod walkthrough;
