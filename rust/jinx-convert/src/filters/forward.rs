//! Sinks that change a few events and forward all others.

/// Implements the given events by forwarding them to `self.inner`.
macro_rules! forward {
    ($($event:ident($($name:ident: $kind:ty),*);)*) => {
        $(fn $event(&mut self, $($name: $kind),*) -> Result<()> {
            self.inner.$event($($name),*)
        })*
    };
}

pub(crate) use forward;
