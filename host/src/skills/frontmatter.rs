//! What a skill says of itself, at the head of its page. <https://agentskills.io/specification>

use serde::Deserialize;

use crate::limits::{SKILL_DESCRIPTION_CHARACTERS_MAX, SKILL_FRONTMATTER_BYTES_MAX};
use crate::scope::Slug;

/// The page that every skill has.
pub const PAGE: &str = "SKILL.md";
/// The line above and below what it says of itself.
const FENCE: &str = "---";

/// What a skill says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// What it is called.
    pub name: Slug,
    /// What it is for: 1 to 1,024 characters.
    pub description: String,
}

/// As it is written; what else it says is for whoever reads the page.
#[derive(Deserialize)]
struct Written {
    name: String,
    description: String,
}

impl About {
    /// Reads the head of a page.
    ///
    /// # Errors
    /// Why it is not as it has to be, in a sentence.
    pub fn read(page: &[u8]) -> Result<Self, String> {
        let Written { name, description } = written(page)?;
        let name = name.parse().map_err(|rule| format!("`name` in {PAGE} is no slug: {rule}"))?;
        let description = description.trim().to_owned();
        let characters = description.chars().count();
        if !(1..=SKILL_DESCRIPTION_CHARACTERS_MAX).contains(&characters) {
            return Err(format!(
                "`description` in {PAGE} is 1 to {SKILL_DESCRIPTION_CHARACTERS_MAX} characters"
            ));
        }
        Ok(Self { name, description })
    }
}

fn written(page: &[u8]) -> Result<Written, String> {
    let none = || {
        format!(
            "{PAGE} begins with a line `{FENCE}`, its `name` and `description` in YAML, and another line `{FENCE}`"
        )
    };
    // What cannot end within its bound is not looked through.
    let head = &page[..page.len().min(SKILL_FRONTMATTER_BYTES_MAX)];
    let head = match std::str::from_utf8(head) {
        Ok(head) => head,
        // Cut within a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err(format!("{PAGE} is UTF-8 text")),
    };
    let head = head.strip_prefix('\u{feff}').unwrap_or(head);
    let mut lines = head.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some(FENCE) {
        return Err(none());
    }
    let mut yaml = String::new();
    for line in lines {
        if line.trim_end() == FENCE {
            return serde_saphyr::from_str(&yaml).map_err(|error| {
                let why = error.to_string();
                let why = why.lines().next().unwrap_or_default();
                format!("what {PAGE} says of itself is not as it must be: {why}")
            });
        }
        yaml.push_str(line);
    }
    Err(none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(head: &str) -> Vec<u8> {
        format!("---\n{head}\n---\n\n# Text\n").into_bytes()
    }

    #[test]
    fn a_page_says_what_it_is_called_and_for() {
        for (head, description) in [
            ("name: pdf-forms\ndescription: Fills in forms.", "Fills in forms."),
            ("description: \"Fills: in\"\nlicense: MIT\nname: pdf-forms", "Fills: in"),
            (
                "name: pdf-forms\ndescription: >\n  Fills in\n  forms.\nmetadata:\n  a: [1]",
                "Fills in forms.",
            ),
        ] {
            let about = About::read(&page(head)).unwrap();
            assert_eq!(
                (about.name.as_str(), about.description.as_str()),
                ("pdf-forms", description)
            );
        }
        let windows = b"\xef\xbb\xbf---\r\nname: 7\r\ndescription: x\r\n---\r\n";
        assert_eq!(About::read(windows).unwrap().name.as_str(), "7");
    }

    /// What is not as the specification says is refused, in a sentence, whatever it is.
    #[test]
    fn a_page_that_is_not_as_it_must_be_is_refused() {
        let long = "x".repeat(SKILL_DESCRIPTION_CHARACTERS_MAX + 1);
        for head in [
            "",
            "name: pdf",
            "description: x",
            "name: pdf\ndescription: ''",
            "name: pdf\ndescription: '  '",
            "name: pdf\ndescription: [x]",
            &format!("name: pdf\ndescription: {long}"),
            "name: PDF\ndescription: x",
            "name: -pdf\ndescription: x",
            "name: pdf--forms\ndescription: x",
            "name: ../pdf\ndescription: x",
            "name: pdf\nname: other\ndescription: x",
            "name: &a [*a]\ndescription: x",
            "name: 'pdf\ndescription: x",
            "- name: pdf",
        ] {
            let refused = About::read(&page(head));
            assert!(refused.is_err(), "{head:?}: {refused:?}");
        }
        for whole in
            [b"".as_slice(), b"# Text", b"---", b"---\nname: pdf\ndescription: x\n", b"\xff"]
        {
            assert!(About::read(whole).is_err(), "{whole:?}");
        }
        let endless = page(&"x: y\n".repeat(SKILL_FRONTMATTER_BYTES_MAX));
        assert!(About::read(&endless).is_err());
    }

    /// A page that names itself again and again costs no more than it is long.
    #[test]
    fn a_page_that_multiplies_is_refused() {
        let mut head = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..40 {
            let below = format!("*a{}", level - 1);
            head += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 9].join(", "));
        }
        head += "name: pdf\ndescription: x";
        assert!(About::read(&page(&head)).is_err());
    }
}
