//! Interfaces that an embedder offers to guests beside those of the contract.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use wasmtime::component::{HasData, Linker};

use super::cancel::Cancel;
use super::state::TurnState;
use crate::scope::Coordinates;
use crate::space::{Guidance, Space, Unmounted};

/// An interface of an embedder's own, such as a language model.
///
/// Guests may import it from every engine that was made with it ([`super::EngineOptions`]), and a
/// component that does is unfit for any other. Whether a turn has it is decided when the turn
/// begins: what [`Self::begin`] refuses is not there for its calls, which have to answer for that.
///
/// Its functions are linked as wasmtime's `bindgen!` makes them, or by hand. An asynchronous one
/// holds up no other guest while it waits, and is dropped, wherever it stands, when its turn comes
/// to its end: by its own time, by a stop, or with a lease that is lost. A call counts in
/// [`super::Usage::host_calls`] and in the turn's wall clock; the arguments of one are at most
/// [`crate::limits::HOSTCALL_BYTES_MAX`] bytes, and what it answers counts in the guest's memory.
/// What it holds beyond that, and how many calls it makes elsewhere at once, is its own to bound.
/// What it answers is read by a guest: nothing of the host belongs in there.
pub trait Import: Send + Sync + 'static {
    /// What the calls of one turn have in common; dropped with the turn.
    type Turn: Send + 'static;

    /// Adds the interface to what guests may import, its functions getting at
    /// [`TurnState::offered`]. Called once for each kind of guest.
    ///
    /// # Errors
    /// As wasmtime's; a name that is linked already is one.
    fn link(&self, linker: &mut Linker<TurnState>) -> wasmtime::Result<()>;

    /// What a turn that begins is given; `None` if it is not to have the interface. It must not
    /// block.
    fn begin(&self, turn: &Beginning<'_>) -> Option<Self::Turn>;
}

/// A turn that begins, as an import sees it.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// Whose turn it is.
    pub coordinates: &'a Coordinates,
    /// By what it is asked to stop.
    pub cancel: &'a Cancel,
    /// What its program finds, and what could not be set up for it: for what a model is told.
    pub guidance: &'a Guidance,
}

/// What `bindgen!` calls the data of an import: `None` in a turn that does not have it.
#[derive(Debug)]
pub struct Offered<I>(PhantomData<I>);

impl<I: Import> HasData for Offered<I> {
    type Data<'a> = Option<&'a mut I::Turn>;
}

/// Imports of an engine; none by default.
#[derive(Clone, Default)]
pub struct Imports(Vec<Arc<dyn Erased>>);

impl Imports {
    /// With one more.
    #[must_use]
    pub fn with(mut self, import: impl Import) -> Self {
        self.0.push(Arc::new(import));
        self
    }

    pub(super) fn link(&self, linker: &mut Linker<TurnState>) -> wasmtime::Result<()> {
        self.0.iter().try_for_each(|import| import.link(linker))
    }

    pub(super) fn begin(&self, space: &Space, cancel: &Cancel, unmounted: &[Unmounted]) -> Offers {
        if self.0.is_empty() {
            return Offers::default();
        }
        let guidance = Guidance { unmounted: unmounted.to_vec(), ..space.guidance() };
        let turn = Beginning { coordinates: space.coordinates(), cancel, guidance: &guidance };
        Offers(self.0.iter().filter_map(|import| import.begin(&turn)).collect())
    }
}

impl fmt::Debug for Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|import| import.name())).finish()
    }
}

/// What the imports gave one turn.
#[derive(Default)]
pub(super) struct Offers(HashMap<TypeId, Box<dyn Any + Send>>);

impl Offers {
    pub(super) fn of<I: Import>(&mut self) -> Option<&mut I::Turn> {
        self.0.get_mut(&TypeId::of::<I>())?.downcast_mut()
    }
}

/// An import of whatever kind.
trait Erased: Send + Sync {
    fn name(&self) -> &'static str;
    fn link(&self, linker: &mut Linker<TurnState>) -> wasmtime::Result<()>;
    fn begin(&self, turn: &Beginning<'_>) -> Option<(TypeId, Box<dyn Any + Send>)>;
}

impl<I: Import> Erased for I {
    fn name(&self) -> &'static str {
        std::any::type_name::<I>()
    }

    fn link(&self, linker: &mut Linker<TurnState>) -> wasmtime::Result<()> {
        Import::link(self, linker)
    }

    fn begin(&self, turn: &Beginning<'_>) -> Option<(TypeId, Box<dyn Any + Send>)> {
        let given = Import::begin(self, turn)?;
        Some((TypeId::of::<I>(), Box::new(given)))
    }
}
