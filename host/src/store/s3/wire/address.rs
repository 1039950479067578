//! Where a bucket is, and how its objects stand in a URI.

use std::net::IpAddr;

use anyhow::{Context, ensure};
use aws_sdk_s3::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};
use aws_smithy_types::Document;
use aws_smithy_types::endpoint::Endpoint;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// A bucket's place, as the SDK's own rules have it.
#[derive(Debug)]
pub(in super::super) struct Address {
    /// Without a `/` at its end.
    base: String,
    /// Where the path begins within `base`.
    path_at: usize,
    host: String,
    scope: Scope,
    payload: Payload,
}

/// What a signature is good for.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) region: String,
    pub(super) service: String,
}

/// Whether a signature covers what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Signed,
    /// The connection keeps it: nobody is on its way who could change it.
    Unsigned,
}

const IN_PATH: &AsciiSet = &IN_QUERY.remove(b'/');
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A value of a query, as signatures want it.
pub(in super::super) fn encoded_query(value: &str) -> String {
    utf8_percent_encode(value, IN_QUERY).to_string()
}

impl Address {
    /// Asks the SDK, once.
    ///
    /// # Errors
    /// No such place, or one whose requests are signed in another way.
    pub(in super::super) async fn resolve(params: Params, region: &str) -> anyhow::Result<Self> {
        let resolver = DefaultResolver::new();
        let resolved = ResolveEndpoint::resolve_endpoint(&resolver, &params).await;
        let endpoint = resolved.map_err(anyhow::Error::from_boxed)?;
        Self::new(endpoint.url(), scope(&endpoint, region)?)
    }

    fn new(url: &str, scope: Scope) -> anyhow::Result<Self> {
        let base = url.trim_end_matches('/').to_owned();
        let (scheme, rest) = base.split_once("://").context("the endpoint has no scheme")?;
        ensure!(matches!(scheme, "http" | "https"), "the endpoint is neither http nor https");
        ensure!(!rest.contains(['?', '#']), "the endpoint has more than a path");
        let authority = rest.split('/').next().unwrap_or_default();
        let server = authority.rsplit('@').next().unwrap_or_default();
        let default_port = if scheme == "https" { ":443" } else { ":80" };
        let host = server.strip_suffix(default_port).unwrap_or(server).to_owned();
        ensure!(!host.is_empty(), "the endpoint names no server");
        let is_safe = scheme == "https" || is_loopback(&host);
        let payload = if is_safe { Payload::Unsigned } else { Payload::Signed };
        let path_at = scheme.len() + "://".len() + authority.len();
        Ok(Self { base, path_at, host, scope, payload })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(super) fn payload(&self) -> Payload {
        self.payload
    }

    /// The URI of an object, each byte of its name encoded that is not plain.
    pub(super) fn uri(&self, name: &str, query: &str) -> String {
        let mut uri = String::with_capacity(self.base.len() + name.len() * 2 + query.len() + 2);
        uri.push_str(&self.base);
        uri.push('/');
        uri.extend(utf8_percent_encode(name, IN_PATH));
        if !query.is_empty() {
            uri.push('?');
            uri.push_str(query);
        }
        uri
    }

    /// The path within a URI that [`Self::uri`] made.
    pub(super) fn path_of<'a>(&self, uri: &'a str, query: &str) -> &'a str {
        let end = if query.is_empty() { uri.len() } else { uri.len() - query.len() - 1 };
        &uri[self.path_at..end]
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn scope(endpoint: &Endpoint, region: &str) -> anyhow::Result<Scope> {
    let schemes = endpoint.auth_schemes();
    let scheme = schemes.iter().find(|scheme| scheme.name() == "sigv4");
    ensure!(
        scheme.is_some() || schemes.is_empty(),
        "buckets of this kind are not supported: their requests are signed in another way"
    );
    let property = |name| match scheme.and_then(|scheme| scheme.get(name)) {
        Some(Document::String(value)) => Some(value.clone()),
        _ => None,
    };
    Ok(Scope {
        region: property("signingRegion").unwrap_or_else(|| region.to_owned()),
        service: property("signingName").unwrap_or_else(|| "s3".to_owned()),
    })
}

#[cfg(test)]
mod tests;
