//! What tokens are signed and checked with.

use std::path::{Path, PathBuf};

use bailiwick::api::token::{SigningKey, TokenKeys, TokenOptions};
use bailiwick::space::SealKey;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Args;

use super::super::failure::Failure;
use super::super::secrets::{make, read};

const TOKENS: &str = "Tokens";
/// The secret of a data directory, where none is configured.
const OWN: &str = "token-secret";

/// How tokens are checked.
#[derive(Debug, Args)]
pub(in crate::cli) struct TokenSettings {
    /// File with the secret that tokens are signed with (HS256), at least 32 bytes. By default
    /// one in the data directory, made if need be.
    #[arg(
        long,
        env = "BAILIWICK_TOKEN_SECRET_FILE",
        value_name = "FILE",
        help_heading = TOKENS
    )]
    token_secret_file: Option<PathBuf>,
    /// File with the public keys of whoever issues tokens (EdDSA): a JSON Web Key Set, or one
    /// key in PEM.
    #[arg(long, env = "BAILIWICK_TOKEN_KEYS", value_name = "FILE", help_heading = TOKENS)]
    token_keys: Option<PathBuf>,
    /// Who issues tokens: what `iss` must be.
    #[arg(
        long,
        env = "BAILIWICK_TOKEN_ISSUER",
        value_name = "TEXT",
        default_value = "bailiwick",
        help_heading = TOKENS
    )]
    token_issuer: String,
    /// Whom tokens are for: what must be in `aud`.
    #[arg(
        long,
        env = "BAILIWICK_TOKEN_AUDIENCE",
        value_name = "TEXT",
        default_value = "bailiwick",
        help_heading = TOKENS
    )]
    token_audience: String,
    /// How many seconds clocks may differ; at most 300.
    #[arg(
        long,
        env = "BAILIWICK_TOKEN_LEEWAY",
        value_name = "SECONDS",
        default_value = "30",
        value_parser = clap::value_parser!(u64).range(..=300),
        help_heading = TOKENS
    )]
    token_leeway: u64,
}

impl TokenSettings {
    /// What a host checks tokens with.
    pub(in crate::cli) fn verify_with(&self, data_dir: &Path) -> Result<TokenOptions, Failure> {
        if self.token_keys.is_some() && self.token_secret_file.is_some() {
            return Err(Failure::new(
                "tokens are checked with a secret or with public keys: set one of --token-secret-file and --token-keys",
            ));
        }
        let (file, keys) = match &self.token_keys {
            Some(file) => {
                let text = String::from_utf8(read(file)?).unwrap_or_default();
                (file.clone(), TokenKeys::public(&text))
            }
            None => {
                let (file, secret) = self.secret(data_dir)?;
                (file, TokenKeys::secret(&secret))
            }
        };
        Ok(TokenOptions {
            keys: keys.map_err(|error| unusable(&file, &error))?,
            issuer: self.token_issuer.clone(),
            audience: self.token_audience.clone(),
            leeway_s: self.token_leeway,
        })
    }

    /// What a token for development is signed with: the host's secret, or a private key.
    pub(in crate::cli) fn sign_with(
        &self,
        data_dir: &Path,
        private_key: Option<&Path>,
    ) -> Result<SigningKey, Failure> {
        if let Some(file) = private_key {
            let pem = String::from_utf8(read(file)?).unwrap_or_default();
            let key = SigningKey::private(&pem);
            return key.map_err(|_| {
                Failure::new(format!("{} is no private Ed25519 key in PEM", file.display()))
            });
        }
        if self.token_keys.is_some() {
            return Err(Failure::new(
                "tokens are checked with public keys here: name the private one, with --private-key FILE",
            ));
        }
        let (file, secret) = self.secret(data_dir)?;
        SigningKey::secret(&secret).map_err(|error| unusable(&file, &error))
    }

    /// What cursors are sealed with: of this file's secret, or of that of the tokens.
    pub(in crate::cli) fn seal_key(
        &self,
        data_dir: &Path,
        file: Option<&Path>,
    ) -> Result<SealKey, Failure> {
        match (file, &self.token_keys) {
            (Some(file), _) => Ok(SealKey::of(&read(file)?)),
            (None, None) => Ok(SealKey::of(&self.secret(data_dir)?.1)),
            (None, Some(_)) => Ok(SealKey::random()),
        }
    }

    pub(in crate::cli) fn issuer(&self) -> &str {
        &self.token_issuer
    }

    pub(in crate::cli) fn audience(&self) -> &str {
        &self.token_audience
    }

    fn secret(&self, data_dir: &Path) -> Result<(PathBuf, Vec<u8>), Failure> {
        let (file, bytes) = match &self.token_secret_file {
            Some(file) => (file.clone(), read(file)?),
            None => {
                let file = data_dir.join(OWN);
                make(&file, &format!("{}\n", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())))?;
                let bytes = read(&file)?;
                (file, bytes)
            }
        };
        // Editors end a file in a line feed.
        let end = bytes.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
        Ok((file, bytes[..end].to_vec()))
    }
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::because(format!("{} cannot be used for tokens", file.display()), error)
}
