//! Media types, by name.

const UNKNOWN: &str = "application/octet-stream";

/// The media type of one name.
pub(super) fn media_type(path: &str) -> &'static str {
    by_extension(extension(path))
}

fn by_extension(extension: &str) -> &'static str {
    mime_guess::from_ext(extension).first_raw().unwrap_or(UNKNOWN)
}

fn extension(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    // What starts with a dot has no other name.
    name.rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map_or("", |(_, extension)| extension)
}

/// Media types of a list of names, of which neighbours mostly end alike.
#[derive(Debug)]
pub(super) struct MediaTypes {
    extension: String,
    media_type: &'static str,
}

impl Default for MediaTypes {
    fn default() -> Self {
        Self { extension: String::new(), media_type: UNKNOWN }
    }
}

impl MediaTypes {
    /// As [`media_type`].
    pub(super) fn of(&mut self, path: &str) -> &'static str {
        let extension = extension(path);
        if extension != self.extension {
            self.media_type = by_extension(extension);
            self.extension = extension.to_owned();
        }
        self.media_type
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list has the media types of each of its names.
    #[test]
    fn a_list_has_the_types_of_its_names() {
        let mut types = MediaTypes::default();
        for path in ["a", "a.md", "b.md", "c.PNG", "d", ".md", "e.md", "f.md/g", "h.no-such", ""] {
            assert_eq!(types.of(path), media_type(path), "{path}");
        }
        assert_eq!((media_type("a.md"), media_type(".md")), ("text/markdown", UNKNOWN));
    }
}
