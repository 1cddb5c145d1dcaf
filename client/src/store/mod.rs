//! Where an agent keeps its keys and sessions.
//!
//! What is kept are private keys: a store must be readable by its owner only. A write must be whole or not at all, and
//! done when it returns, because a session is stored before a message of it is posted.

#[cfg(target_arch = "wasm32")]
mod browser;
#[cfg(not(target_arch = "wasm32"))]
mod file;
mod memory;
#[cfg(not(target_arch = "wasm32"))]
mod owner;

use crate::Result;
use crate::platform::{Shared, Work};

#[cfg(target_arch = "wasm32")]
pub use browser::LocalStore;
#[cfg(not(target_arch = "wasm32"))]
pub use file::FileStore;
pub use memory::MemoryStore;

/// Named values of one agent. Names hold ids that the service made, so a store must not take them as paths.
pub trait Store: Shared {
    /// The value of a name; `None` if there is none.
    fn read<'a>(&'a self, name: &'a str) -> Work<'a, Result<Option<Vec<u8>>>>;
    /// Stores a value in place of the one before. When this returns, the value survives a crash, if the store does.
    fn write<'a>(&'a self, name: &'a str, value: &'a [u8]) -> Work<'a, Result<()>>;
    /// Removes a value, if there is one.
    fn remove<'a>(&'a self, name: &'a str) -> Work<'a, Result<()>>;
}

macro_rules! forward {
    ($($pointer:ty),+) => {
        $(impl<T: Store + ?Sized> Store for $pointer {
            fn read<'a>(&'a self, name: &'a str) -> Work<'a, Result<Option<Vec<u8>>>> {
                (**self).read(name)
            }

            fn write<'a>(&'a self, name: &'a str, value: &'a [u8]) -> Work<'a, Result<()>> {
                (**self).write(name, value)
            }

            fn remove<'a>(&'a self, name: &'a str) -> Work<'a, Result<()>> {
                (**self).remove(name)
            }
        })+
    };
}

forward!(Box<T>, std::sync::Arc<T>);
