//! Receipts of deletion on the command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bailiwick::proofs::{NOT_KNOWN, PublicKey, ReceiptKey, SignedReceipt};
use clap::{Args, Subcommand};

use super::Outcome;
use super::desk::Place;
use super::failure::Failure;
use super::output::{Output, counted, time};
use super::secrets::{make, read};

const RECEIPTS: &str = "Receipts";
/// The key of a data directory, where none is configured.
const OWN: &str = "receipt-key.pem";

/// What receipts of deletion are signed with.
#[derive(Debug, Args)]
pub(super) struct ReceiptSettings {
    /// File with the private key that receipts of deletion are signed with (Ed25519, PEM): the
    /// same one for all hosts of a catalog. By default one in the data directory, made if need be.
    #[arg(long, env = "BAILIWICK_RECEIPT_KEY_FILE", value_name = "FILE", help_heading = RECEIPTS)]
    receipt_key_file: Option<PathBuf>,
}

impl ReceiptSettings {
    pub(super) fn key(&self, data_dir: &Path) -> Result<ReceiptKey, Failure> {
        let file = match &self.receipt_key_file {
            Some(file) => file.clone(),
            None => {
                let file = data_dir.join(OWN);
                let made = ReceiptKey::generate();
                let (_, text) =
                    made.map_err(|error| Failure::because("no key can be made", &error))?;
                make(&file, &text)?;
                file
            }
        };
        let text = String::from_utf8(read(&file)?).unwrap_or_default();
        ReceiptKey::from_pem(&text).map_err(|error| {
            Failure::because(format!("{} cannot be used for receipts", file.display()), &error)
        })
    }
}

/// Receipts of deletion: checking them, and what others check them with.
#[derive(Debug, Subcommand)]
pub(super) enum Receipts {
    /// Checks a receipt, without the store or the catalog: exit code 0 if the key signed just
    /// this.
    Verify {
        /// The receipt.
        file: PathBuf,
        /// The deployment's public key: in base64, or a file of it in PEM.
        #[arg(long, value_name = "KEY")]
        public_key: String,
        /// Prints the receipt as a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Prints the public key that receipts of this deployment are checked with.
    Key {
        #[command(flatten)]
        settings: ReceiptSettings,
        /// Prints it in PEM.
        #[arg(long)]
        pem: bool,
    },
}

impl Receipts {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let mut output = Output::new();
        match self {
            Self::Verify { file, public_key, json } => {
                let key = public(&public_key)?;
                let text = String::from_utf8(read(&file)?).unwrap_or_default();
                let signed = SignedReceipt::verified(&text, &key).map_err(|error| {
                    Failure::because(format!("{} is not verified", file.display()), &error)
                })?;
                if json { output.json(&signed.receipt)? } else { print(&mut output, &signed)? }
            }
            Self::Key { settings, pem } => {
                let public = settings.key(&place.data_dir()?)?.public();
                let text = if pem { public.to_pem() } else { format!("{public}\n") };
                output.text(&text)?;
            }
        }
        output.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A key as it is written, or in a file.
fn public(text: &str) -> Result<PublicKey, Failure> {
    if let Ok(key) = PublicKey::parse(text) {
        return Ok(key);
    }
    let file = PathBuf::from(text);
    let kept = String::from_utf8(read(&file)?).unwrap_or_default();
    PublicKey::parse(&kept)
        .map_err(|error| Failure::because(format!("{} is no key", file.display()), &error))
}

fn print(output: &mut Output, signed: &SignedReceipt) -> Result<(), Failure> {
    let receipt = &signed.receipt;
    let asked = &receipt.asked;
    let what = match &asked.subject {
        Some(subject) => format!("sessions that {subject} opened in workspace {}", asked.workspace),
        None => format!("all of workspace {}", asked.workspace),
    };
    output.line(&format!("verified: erasure {} of {what}", receipt.erasure))?;
    let late = if receipt.proved_ms > asked.deadline_ms { ", late" } else { "" };
    output.line(&format!(
        "asked {}, due {}, proved {}{late}",
        time(asked.at_ms),
        time(asked.deadline_ms),
        time(receipt.proved_ms)
    ))?;
    for done in &receipt.deletions {
        output.line(&format!(
            "  {} {}: {}, {} bytes, {}, {}, {}",
            done.what,
            done.id,
            counted(done.files, "file"),
            done.bytes,
            counted(done.versions, "earlier version"),
            counted(done.markers, "mark"),
            counted(done.uploads, "unfinished upload"),
        ))?;
    }
    for copy in &receipt.promoted {
        let known = match copy.revision.as_str() {
            "" | NOT_KNOWN => "whether there is a copy is not known",
            revision => revision,
        };
        output.line(&format!("lives on: {} of agent {} ({known})", copy.path, copy.agent))?;
    }
    if receipt.promoted_cut {
        output.line("lives on: more than are listed")?;
    }
    for sentence in &receipt.unpromised {
        output.line(&format!("not promised: {sentence}"))?;
    }
    Ok(())
}
