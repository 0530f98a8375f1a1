//! What the objects ask for, compared with what Neutron holds.
//!
//! A bad spec leaves the network of an earlier spec in place. The controller may have missed some specs, so the
//! network may be that of any good spec of the object. A network that was seen working must still exist at the end;
//! one that was never seen may exist.

use std::collections::BTreeMap;

use genclient_runtime::ListParams;
use samplecrd_apis::samplecrd::v1::Network;

use super::{
    Cluster, Controller, eventually,
    neutron::Found,
    writers::{History, Subnet, subnet_of},
};

/// What an object asks for.
struct Wanted {
    name: String,
    /// `None` if the spec is bad.
    subnet: Option<Subnet>,
}

/// What the objects ask for, by uid.
async fn wanted(cluster: &Cluster<'_>) -> BTreeMap<String, Wanted> {
    let networks = cluster.networks();
    let listed = eventually(
        "every deletion is finished",
        async || networks.list(&ListParams::default()).await.unwrap().items,
        |items| items.iter().all(|network| network.metadata.deletion_timestamp.is_none()),
    )
    .await;
    let wanted = listed.into_iter().map(|Network { metadata, spec }| {
        (metadata.uid.unwrap(), Wanted { name: metadata.name.unwrap(), subnet: subnet_of(&spec) })
    });
    wanted.collect()
}

/// What is lost, doubled, wrong or leaked.
fn differences(wanted: &BTreeMap<String, Wanted>, found: &Found, history: &History) -> Vec<String> {
    let (good, seen) = (history.good.lock(), history.seen.lock());
    let mut differences = Vec::new();
    for (uid, Wanted { name, subnet }) in wanted {
        let networks = found.get(uid).map(Vec::as_slice).unwrap_or_default();
        let right = match (subnet, networks) {
            (Some(subnet), [network]) => *network == (name.clone(), vec![subnet.clone()]),
            // The name is not repaired while the spec is bad. If the spec turned bad in the middle of a change,
            // the old subnet and the new one both stay.
            (None, [(_, subnets)]) => {
                matches!(subnets.len(), 1 | 2) && subnets.iter().all(|subnet| good[uid].contains(subnet))
            }
            (None, []) => !seen.contains(uid),
            _ => false,
        };
        if !right {
            let was_seen = seen.contains(uid);
            differences.push(format!(
                "{name} wants {subnet:?} of {:?} (seen: {was_seen}), and there is {networks:?}",
                good.get(uid)
            ));
        }
    }
    let leaked = found.iter().filter(|(uid, _)| !wanted.contains_key(*uid));
    differences.extend(leaked.map(|(uid, networks)| format!("{uid} is gone, and there is {networks:?}")));
    differences
}

/// Waits until Neutron holds what the objects ask for, and sees that it stays so without the controllers.
pub async fn settles(
    cluster: &Cluster<'_>,
    controllers: Vec<Controller>,
    history: &History,
    found: impl AsyncFn() -> Found,
) -> usize {
    let begun = std::time::Instant::now();
    let wanted = wanted(cluster).await;
    let now = async || differences(&wanted, &found().await, history);
    eventually("Neutron is as desired", now, Vec::is_empty).await;
    for controller in controllers {
        controller.stop().await;
    }
    assert_eq!(now().await, [""; 0], "and stays so");
    let bad = wanted.values().filter(|wanted| wanted.subnet.is_none()).count();
    let (objects, elapsed) = (wanted.len(), begun.elapsed());
    eprintln!("{}: {objects} objects, {bad} with a bad spec, settled after {elapsed:?}", cluster.namespace);
    objects
}
