//! A provider that only the leader changes.

use genclient_runtime::leader::Fence;

use super::{Applied, Desired, Error, ErrorKind, Listed, Owner, Provider};

/// A provider whose changes pass the fence of the leader election, if there is one.
///
/// A change that is under way when the leadership ends is given up. The next leader completes it.
pub(crate) struct Fenced<P> {
    provider: P,
    fence: Option<Fence>,
}

tokio::task_local! {
    /// The term of the change that the current task makes.
    static TERM: u64;
}

/// Names the program in the requests to the provider, with the term of its leadership. The provider's access log then
/// shows which leader made a change.
pub fn user_agent() -> String {
    let name = concat!("samplecrd-controller/", env!("CARGO_PKG_VERSION"));
    TERM.try_with(|term| format!("{name} (term {term})")).unwrap_or_else(|_| name.to_owned())
}

impl<P: Provider> Fenced<P> {
    pub(crate) fn new(provider: P, fence: Option<Fence>) -> Self {
        Self { provider, fence }
    }

    async fn guard<T>(&self, change: impl Future<Output = Result<T, Error>> + Send) -> Result<T, Error> {
        let Some(fence) = &self.fence else { return change.await };
        let guarded = match fence.term() {
            Ok(term) => fence.guard(TERM.scope(term, change)).await,
            Err(refused) => Err(refused),
        };
        guarded.unwrap_or_else(|refused| Err(Error::new(ErrorKind::Unavailable, refused.to_string())))
    }
}

impl<P: Provider> Provider for Fenced<P> {
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
