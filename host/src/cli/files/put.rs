use std::path::{Path, PathBuf};

use bailiwick::scope::GuestPath;
use bailiwick::space::{self, File, Writer};
use bytes::{BufMut, BytesMut};
use clap::Args;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::super::desk::{Desk, Place};
use super::super::failure::Failure;
use super::super::interrupt::Interrupts;
use super::reach::{Missing, Reach};
use super::{Names, Overwriting, Shown, into_folder, progress};

const CHUNK_BYTES: usize = 1 << 20;

#[derive(Debug, Args)]
pub(in crate::cli) struct Put {
    /// A local file, or `-` for standard input.
    local: PathBuf,
    /// Where to keep it; a path that ends in `/` keeps the local file's name.
    path: String,
    #[command(flatten)]
    names: Names,
    #[command(flatten)]
    overwriting: Overwriting,
    #[command(flatten)]
    shown: Shown,
}

impl Put {
    /// Everything that can be refused is refused before anything is made.
    pub(super) async fn run(&self, place: &Place) -> Result<(), Failure> {
        let path = self.path()?;
        GuestPath::parse(&path).map_err(space::Error::from)?;
        let mut source = Source::open(&self.local).await?;
        let desk = Desk::open(place).await?;
        let reach = self.names.reach(&desk, &[&path], Missing::Make).await?;
        let file = self.transfer(&mut source, &desk, &reach, &path).await?;
        self.names.keep(&desk.catalog, &reach, &path).await?;
        self.shown.file(&file)
    }

    fn path(&self) -> Result<String, Failure> {
        if !self.path.ends_with('/') {
            return Ok(self.path.clone());
        }
        let name = self.local.file_name().filter(|_| self.local != Path::new("-"));
        let name = name.and_then(|name| name.to_str()).ok_or_else(|| {
            Failure::new(format!("`{}` is a folder: name the file in it", self.path))
        })?;
        Ok(into_folder(&self.path, name))
    }

    async fn transfer(
        &self,
        source: &mut Source,
        desk: &Desk,
        reach: &Reach,
        path: &str,
    ) -> Result<File, Failure> {
        let explain = |error| self.overwriting.explain(error, path);
        let mut interrupts = Interrupts::listen()?;
        let mut writer =
            reach.space.open_writer(path, self.overwriting.when()).await.map_err(explain)?;
        let copied = tokio::select! {
            copied = source.copy_to(&mut writer) => copied,
            () = interrupts.next() => {
                Err(Failure::Cancelled(format!("cancelled: `{path}` is as it was")))
            }
        };
        if let Err(failure) = copied {
            writer.abort().await;
            return Err(failure);
        }
        self.names.check_there(&desk.catalog, reach, path).await?;
        writer.finish().await.map_err(explain)
    }
}

/// Where the bytes come from.
struct Source {
    bytes: Box<dyn AsyncRead + Send + Unpin>,
    /// If known.
    size: Option<u64>,
    shown: String,
}

impl Source {
    async fn open(local: &Path) -> Result<Self, Failure> {
        if local == Path::new("-") {
            let bytes = Box::new(tokio::io::stdin());
            return Ok(Self { bytes, size: None, shown: "standard input".to_owned() });
        }
        let shown = local.display().to_string();
        let unreadable = |error| Failure::because(format!("{shown} cannot be read"), &error);
        let file = tokio::fs::File::open(local).await.map_err(unreadable)?;
        let metadata = file.metadata().await.map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(Failure::new(format!("{shown} is a directory: put its files one by one")));
        }
        let size = metadata.is_file().then_some(metadata.len());
        Ok(Self { bytes: Box::new(file), size, shown })
    }

    async fn copy_to(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let bar = progress::bar(self.size);
        let mut chunk = BytesMut::new();
        loop {
            // Exactly so large: what is handed over is kept whole while it is on its way.
            let left = CHUNK_BYTES - chunk.len();
            chunk.reserve(left);
            let mut room = (&mut chunk).limit(left);
            let read = self.bytes.read_buf(&mut room).await.map_err(|error| {
                Failure::because(format!("{} cannot be read", self.shown), &error)
            })?;
            if read == 0 || chunk.len() >= CHUNK_BYTES {
                bar.inc(chunk.len() as u64);
                writer.write(chunk.split().freeze()).await?;
            }
            if read == 0 {
                bar.finish_and_clear();
                return Ok(());
            }
        }
    }
}
