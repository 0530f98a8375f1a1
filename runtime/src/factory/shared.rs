//! The use of one factory by several control loops.

use std::ops::Deref;

use super::InformerFactory;

/// The use of a factory by a control loop. The informers stop when the last use ends.
pub(crate) struct FactoryUse(InformerFactory);

impl FactoryUse {
    pub(crate) fn new(factory: InformerFactory) -> Self {
        factory.inner.members.lock().uses += 1;
        Self(factory)
    }

    /// Ends the use. Returns the factory if it is shut down.
    pub(crate) fn end(self) -> Option<InformerFactory> {
        let factory = self.0.clone();
        drop(self);
        let is_shut_down = factory.inner.members.lock().is_shut_down;
        is_shut_down.then_some(factory)
    }
}

impl Deref for FactoryUse {
    type Target = InformerFactory;

    fn deref(&self) -> &InformerFactory {
        &self.0
    }
}

impl Drop for FactoryUse {
    fn drop(&mut self) {
        let mut members = self.0.inner.members.lock();
        members.uses -= 1;
        let is_last = members.uses == 0;
        drop(members);
        if is_last {
            self.0.stop();
        }
    }
}
