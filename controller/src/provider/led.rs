//! A provider that only a leader uses.

use genclient_runtime::leader::Fence;

use super::{Applied, Desired, Error, ErrorKind, Listed, Owner, Provider};

/// A provider whose changes pass the fence of the leader election, if there is one.
///
/// A change that is under way when the leadership ends is given up. The next leader completes it.
pub(crate) struct Led<P> {
    provider: P,
    fence: Option<Fence>,
}

impl<P: Provider> Led<P> {
    pub(crate) fn new(provider: P, fence: Option<Fence>) -> Self {
        Self { provider, fence }
    }

    async fn guard<T>(&self, change: impl Future<Output = Result<T, Error>> + Send) -> Result<T, Error> {
        let Some(fence) = &self.fence else { return change.await };
        fence
            .guard(change)
            .await
            .unwrap_or_else(|refused| Err(Error::new(ErrorKind::Unavailable, refused.to_string())))
    }
}

impl<P: Provider> Provider for Led<P> {
    async fn apply(&self, owner: &Owner, desired: &Desired) -> Result<Applied, Error> {
        self.guard(self.provider.apply(owner, desired)).await
    }

    async fn tidy(&self, owner: &Owner) -> Result<(), Error> {
        self.guard(self.provider.tidy(owner)).await
    }

    async fn delete(&self, owner: &Owner) -> Result<(), Error> {
        self.guard(self.provider.delete(owner)).await
    }

    async fn list(&self) -> Result<Vec<Listed>, Error> {
        self.provider.list().await
    }
}
