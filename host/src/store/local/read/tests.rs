use std::os::unix::fs::symlink;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::OFlags;

use super::{Patience, open, walk};

#[expect(clippy::disallowed_methods, reason = "what is opened is planted from outside")]
/// Where the kernel cannot look a path up at once, it is walked, and no link is followed there
/// either.
#[test]
fn both_ways_to_open_follow_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::create_dir_all(here.join("a/b")).unwrap();
    std::fs::write(here.join("a/b/c"), "c").unwrap();
    symlink("b", here.join("a/folder")).unwrap();
    symlink("a", here.join("top")).unwrap();
    symlink("c", here.join("a/b/file")).unwrap();
    let root = Dir::open_ambient_dir(here, ambient_authority()).unwrap();
    for path in ["a/folder/c", "top/b/c", "a/b/file", "top/b/file"] {
        assert!(open(&root, path, OFlags::RDONLY, Patience::Wait).is_err(), "{path}");
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        assert!(walk(&root, path, flags).is_err(), "{path}");
    }
    for path in ["a", "a/b/c"] {
        open(&root, path, OFlags::RDONLY, Patience::Wait).unwrap();
        walk(&root, path, OFlags::RDONLY | OFlags::NOFOLLOW).unwrap();
    }
}
