//! Sinks that change a few events and pass on all others.

/// Implements the given events by passing them on to `self.inner`.
macro_rules! forward {
    ($($event:ident($($name:ident: $kind:ty),*);)*) => {
        $(fn $event(&mut self, $($name: $kind),*) -> Result<()> {
            self.inner.$event($($name),*)
        })*
    };
}

pub(crate) use forward;
