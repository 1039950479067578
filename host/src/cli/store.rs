//! Stores on the command line: opening one, and looking at what it can.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use bailiwick::clock::SystemClock;
use bailiwick::store::{LocalStore, ObjectStore, S3Config, S3Store, StoreLocation};
use clap::Subcommand;

use super::Outcome;
use super::desk::Place;
use super::failure::{Failure, causes};
use super::output::Output;

/// What the catalog calls the store of the data directory, wherever that is moved.
const OWN: &str = "files";

/// The store behind the files.
#[derive(Debug, Subcommand)]
pub(super) enum Store {
    /// Opens the store, tries out what it can, and says it.
    Check {
        /// Prints a JSON object.
        #[arg(long)]
        json: bool,
    },
}

impl Store {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let Self::Check { json } = self;
        let mut output = Output::new();
        match place.open_store().await?.kind {
            Kind::Directory(store) => print(&mut output, &store.report(), json)?,
            Kind::S3(store) => {
                let report = store.report().await.map_err(|error| {
                    Failure::because("the server stopped answering while it was tried out", &error)
                })?;
                print(&mut output, &report, json)?;
            }
        }
        output.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A store, and what the catalog calls it.
#[derive(Debug)]
pub(super) struct Opened {
    kind: Kind,
    pub(super) name: String,
}

#[derive(Debug)]
enum Kind {
    Directory(LocalStore),
    S3(Box<S3Store>),
}

impl Opened {
    /// The bucket, if it is one.
    pub(super) fn bucket(self) -> Option<Box<S3Store>> {
        match self.kind {
            Kind::Directory(_) => None,
            Kind::S3(store) => Some(store),
        }
    }

    pub(super) fn store(self) -> Arc<dyn ObjectStore> {
        match self.kind {
            Kind::Directory(store) => Arc::new(store),
            Kind::S3(store) => Arc::new(*store),
        }
    }
}

/// Opens the store of a data directory, making it if need be.
pub(super) fn open_own(data_dir: &Path) -> Result<Opened, Failure> {
    open_directory(&data_dir.join(OWN), OWN.to_owned())
}

/// Opens a store that a person named. A directory must be there: one mistyped would be made,
/// and look empty.
pub(super) async fn open(location: &StoreLocation, data_dir: &Path) -> Result<Opened, Failure> {
    match location {
        StoreLocation::Directory(path) => {
            let directory = existing(path)?;
            if data_dir.join(OWN).canonicalize().is_ok_and(|own| own == directory) {
                return open_own(data_dir);
            }
            let name = directory.display().to_string();
            open_directory(&directory, name)
        }
        StoreLocation::S3 { bucket, prefix } => open_s3(bucket, prefix).await,
    }
}

fn existing(path: &Path) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let directory = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::new(format!(
            "there is no directory {shown}: make it first, or name another store"
        )),
        _ => Failure::because(format!("{shown} cannot be used as a store"), &error),
    })?;
    if !directory.is_dir() {
        return Err(Failure::new(format!(
            "{shown} is not a directory: name one, or `s3://bucket/prefix`"
        )));
    }
    Ok(directory)
}

fn open_directory(path: &Path, name: String) -> Result<Opened, Failure> {
    let store =
        LocalStore::open_ambient(path, Arc::new(SystemClock)).map_err(|error| refused(&error))?;
    Ok(Opened { kind: Kind::Directory(store), name })
}

async fn open_s3(bucket: &str, prefix: &str) -> Result<Opened, Failure> {
    let config = S3Config { prefix: prefix.to_owned(), ..S3Config::new(bucket) };
    let store =
        S3Store::open(&config, Arc::new(SystemClock)).await.map_err(|error| refused(&error))?;
    let name = if prefix.is_empty() {
        format!("s3://{bucket}")
    } else {
        format!("s3://{bucket}/{prefix}")
    };
    Ok(Opened { kind: Kind::S3(Box::new(store)), name })
}

/// The first sentence is for the person; what lies below it comes after.
fn refused(error: &anyhow::Error) -> Failure {
    let (sentence, all) = (error.to_string(), causes(error));
    match all.strip_prefix(&sentence).map(|below| below.trim_start_matches(": ")) {
        Some(below) if !below.is_empty() => Failure::because(sentence, &below),
        _ => Failure::new(sentence),
    }
}

fn print<R: std::fmt::Display + serde::Serialize>(
    output: &mut Output,
    report: &R,
    json: bool,
) -> Result<(), Failure> {
    if json { output.json(report) } else { output.text(&report.to_string()) }
}
