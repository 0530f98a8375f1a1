//! Networks in memory, for trying the controller and for tests.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use super::{Applied, Change, Desired, Error, Listed, Owner, Provider};

/// Networks in the memory of the process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// By uid.
    networks: Arc<Mutex<BTreeMap<String, (Owner, Desired)>>>,
}

impl Memory {
    /// Returns all networks by owner.
    pub fn networks(&self) -> BTreeMap<Owner, Desired> {
        self.networks.lock().values().cloned().collect()
    }
}

impl Provider for Memory {
    async fn apply(&self, owner: &Owner, desired: &Desired) -> Result<Applied, Error> {
        let before = self.networks.lock().insert(owner.uid.clone(), (owner.clone(), *desired));
        let change = match before {
            None => Change::Created,
            Some(before) if before == (owner.clone(), *desired) => Change::None,
            Some(_) => Change::Updated,
        };
        Ok(Applied { id: owner.uid.clone(), change })
    }

    async fn tidy(&self, _: &Owner) -> Result<(), Error> {
        Ok(())
    }

    async fn delete(&self, owner: &Owner) -> Result<(), Error> {
        self.networks.lock().remove(&owner.uid);
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, Error> {
        Ok(self.networks().into_keys().map(|owner| Listed { owner, is_empty: false }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn memory_keeps_the_contracts() {
        let owner =
            |name: &str, uid: &str| Owner { namespace: "default".into(), name: name.into(), uid: uid.into() };
        let provider = Memory::default();
        let first = Desired::parse("10.0.0.0/24", "10.0.0.1").unwrap();
        let second = Desired::parse("10.0.0.0/24", "10.0.0.2").unwrap();
        let (old, new) = (owner("a", "1"), owner("a", "2"));
        let apply = async |owner, desired| provider.apply(owner, desired).await.unwrap().change;
        assert_eq!(apply(&old, &first).await, Change::Created);
        assert_eq!(apply(&old, &first).await, Change::None);
        assert_eq!(apply(&old, &second).await, Change::Updated);
        assert_eq!(apply(&new, &second).await, Change::Created, "the uid tells them apart");
        provider.tidy(&new).await.unwrap();
        assert_eq!(provider.networks().into_keys().collect::<Vec<_>>(), [old.clone(), new.clone()]);
        provider.delete(&old).await.unwrap();
        provider.delete(&old).await.unwrap();
        assert_eq!(provider.list().await.unwrap(), [Listed { owner: new, is_empty: false }]);
    }
}
