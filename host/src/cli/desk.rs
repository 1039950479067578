//! What every command works with: a catalog and a store.

use std::mem::ManuallyDrop;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

use bailiwick::catalog::{Catalog, CatalogError, CatalogLocation, CatalogOptions, Name};
use bailiwick::clock::{Clock, SystemClock};
use bailiwick::limits::Limits;
use bailiwick::retention::{Sweeper, Tick};
use bailiwick::space::Storage;
use bailiwick::store::{ObjectStore, StoreLocation};
use clap::Args;

use super::failure::{Failure, causes, say};
use super::output::counted;
use super::running::give_up_dead;
use super::store::{Opened, open, open_own};

const KEPT: &str = "Where things are kept";

/// Where things are kept.
#[derive(Clone, Debug, Args)]
pub(super) struct Place {
    /// Where files are kept: a directory that exists, or `s3://BUCKET/PREFIX`. By default in the
    /// data directory.
    #[arg(long, global = true, env = "BAILIWICK_STORE", value_name = "STORE", help_heading = KEPT)]
    store: Option<StoreLocation>,
    /// Where this host keeps its catalog, its cache and, by default, the files
    /// [default: $XDG_DATA_HOME/bailiwick or ~/.local/share/bailiwick].
    #[arg(long, global = true, env = "BAILIWICK_DATA", value_name = "DIR", help_heading = KEPT)]
    data_dir: Option<PathBuf>,
    /// Where the catalog is kept: a file, or a PostgreSQL database, by its URL. By default in the
    /// data directory.
    #[arg(
        long,
        global = true,
        env = "BAILIWICK_CATALOG",
        hide_env_values = true,
        value_name = "CATALOG",
        help_heading = KEPT
    )]
    catalog: Option<CatalogLocation>,
}

/// A catalog and its store, open.
#[derive(Debug)]
pub(super) struct Desk {
    /// Left open at the end of the process, as a crash would: to fold its journal into it takes
    /// two syncs more, and what was answered is on disk either way.
    pub(super) catalog: ManuallyDrop<Catalog>,
    pub(super) storage: Arc<Storage>,
    pub(super) data_dir: PathBuf,
}

impl Desk {
    /// Opens both, and finishes what earlier commands did not live to finish.
    pub(super) async fn open(place: &Place) -> Result<Self, Failure> {
        Self::open_with(place, Limits::default(), Storage::new).await
    }

    /// As [`Self::open`], with other limits, and with the storage that `make` makes over the store.
    pub(super) async fn open_with(
        place: &Place,
        limits: Limits,
        make: impl FnOnce(Arc<dyn ObjectStore>, Arc<dyn Clock>, Limits) -> Arc<Storage>,
    ) -> Result<Self, Failure> {
        let desk = Self::open_as_it_is(place, limits, make).await?;
        // The locks of this machine say nothing about the processes of others.
        if let CatalogLocation::File(_) = place.catalog()? {
            give_up_dead(&desk.catalog, &desk.data_dir).await?;
        }
        if let Err(failure) = desk.empty_owed().await {
            say("files of what was deleted earlier are still there; a later command tries again");
            failure.report();
        }
        Ok(desk)
    }

    /// Opens both to look something up, and finishes nothing.
    pub(super) async fn look(place: &Place) -> Result<Self, Failure> {
        Self::open_as_it_is(place, Limits::default(), Storage::new).await
    }

    async fn open_as_it_is(
        place: &Place,
        limits: Limits,
        make: impl FnOnce(Arc<dyn ObjectStore>, Arc<dyn Clock>, Limits) -> Arc<Storage>,
    ) -> Result<Self, Failure> {
        let data_dir = place.data_dir()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let opened = place.open_store().await?;
        let location = place.catalog()?;
        let options = CatalogOptions {
            location: &location,
            store: &opened.name.clone(),
            lease_ms: limits.turn_lease_ms,
            clock: clock.clone(),
        };
        let catalog = Catalog::open(options).await.map_err(|error| no_catalog(&location, error))?;
        let catalog = ManuallyDrop::new(catalog);
        let storage = make(opened.store(), clock, limits);
        Ok(Self { catalog, storage, data_dir })
    }

    /// Removes the files of what was deleted, here or by a command that did not live to do it.
    pub(super) async fn empty_owed(&self) -> Result<Tick, Failure> {
        let tick = self.sweeper().empty_owed().await;
        if tick.failed == 0 {
            return Ok(tick);
        }
        Err(Failure::new("storage did not remove all that it was to remove"))
    }

    /// What removes what is to go.
    pub(super) fn sweeper(&self) -> Sweeper {
        Sweeper::new((*self.catalog).clone(), self.storage.clone(), Arc::new(()))
    }

    /// What is left to do after a deletion, and what to say of it.
    pub(super) async fn finish_deletion(&self, kind: &str, name: &Name) -> Result<(), Failure> {
        let Tick { files, bytes, .. } = self.empty_owed().await.inspect_err(|_| {
            say(&format!(
                "{kind} `{name}` is deleted, its files not yet; a later command tries again"
            ));
        })?;
        let files = counted(files, "file");
        say(&format!("deleted {kind} `{name}` ({files}, {bytes} bytes)"));
        Ok(())
    }
}

impl Place {
    /// The data directory, made if need be, for this user alone.
    pub(super) fn data_dir(&self) -> Result<PathBuf, Failure> {
        let directory = match &self.data_dir {
            Some(directory) => directory.clone(),
            None => default_data_dir()?,
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(
            |error| {
                let shown = directory.display();
                Failure::because(
                    format!("the data directory {shown} cannot be made: choose another with --data-dir or BAILIWICK_DATA"),
                    &error,
                )
            },
        )?;
        Ok(directory)
    }

    /// The store alone.
    pub(super) async fn open_store(&self) -> Result<Opened, Failure> {
        match &self.store {
            Some(location) => open(location, &self.data_dir()?).await,
            None => open_own(&self.data_dir()?),
        }
    }

    /// Where the catalog is kept.
    fn catalog(&self) -> Result<CatalogLocation, Failure> {
        match &self.catalog {
            Some(location) => Ok(location.clone()),
            None => Ok(CatalogLocation::File(self.data_dir()?.join("catalog.sqlite"))),
        }
    }

    /// Where compiled components are kept.
    pub(super) fn cache_dir(&self) -> Result<PathBuf, Failure> {
        Ok(self.data_dir()?.join("compiled"))
    }
}

fn default_data_dir() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
    };
    absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("bailiwick"))
        .ok_or_else(|| {
            Failure::new("there is no HOME to keep data in: name a directory with --data-dir or BAILIWICK_DATA")
        })
}

fn no_catalog(location: &CatalogLocation, error: CatalogError) -> Failure {
    let because = match error {
        CatalogError::Unavailable { source } => causes(&source),
        other => other.to_string(),
    };
    let another = match location {
        CatalogLocation::File(_) => "another data directory, with --data-dir or BAILIWICK_DATA",
        CatalogLocation::Server(_) => "another server, with --catalog or BAILIWICK_CATALOG",
    };
    Failure::Refused {
        message: format!("the catalog {location} cannot be opened"),
        because: Some(because),
        suggestions: vec![another.to_owned()],
    }
}
