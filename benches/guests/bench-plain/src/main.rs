//! Writes or reads a plain file, as its input says: `write PATH BYTES`, `read PATH` or `nothing`. Says
//! how many bytes it moved.

#![expect(clippy::disallowed_methods, reason = "plain files are what this is about")]

use std::fs::File;
use std::io::{self, Read, Write};

const BLOCK: usize = 1 << 20;

fn main() -> io::Result<()> {
    let mut input = String::new();
    io::stdin().read_to_string(&mut input)?;
    let moved = match input.split_whitespace().collect::<Vec<_>>()[..] {
        ["write", path, bytes] => write(path, bytes.parse().map_err(io::Error::other)?)?,
        ["read", path] => read(path)?,
        _ => 0,
    };
    println!("{moved}");
    Ok(())
}

fn write(path: &str, bytes: usize) -> io::Result<usize> {
    let mut file = File::create(path)?;
    let block = vec![b'x'; BLOCK];
    for start in (0..bytes).step_by(BLOCK) {
        file.write_all(&block[..BLOCK.min(bytes - start)])?;
    }
    file.sync_all()?;
    Ok(bytes)
}

fn read(path: &str) -> io::Result<usize> {
    let mut file = File::open(path)?;
    let (mut block, mut bytes) = (vec![0; BLOCK], 0);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(bytes),
            read => bytes += read,
        }
    }
}
