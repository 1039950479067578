//! Writes and checks files of any size, holding 1 MiB: `write PATH BYTES`, `read PATH BYTES`.
//! What stands at an offset follows from the offset, so that each byte is checked.

use std::io::{Read, Write};

use bailiwick_guest::{Failure, Reader, Request, Writer, agent};

const BLOCK_BYTES: usize = 1 << 20;

agent!(run);

fn run(request: Request) -> Result<String, Failure> {
    let words: Vec<_> = request.input.split_whitespace().collect();
    let [verb, path, size] = words[..] else {
        return Err("The input is `write PATH BYTES` or `read PATH BYTES`.".into());
    };
    let size: u64 = size.parse()?;
    match verb {
        "write" => write(path, size),
        "read" => read(path, size),
        _ => Err(format!("`{verb}` is neither `write` nor `read`.").into()),
    }
}

fn write(path: &str, size: u64) -> Result<String, Failure> {
    let mut writer = Writer::create(path)?;
    let mut block = vec![0; BLOCK_BYTES];
    let mut content = Content::default();
    let mut left = size;
    while left > 0 {
        let length = usize::try_from(left.min(BLOCK_BYTES as u64))?;
        content.fill(&mut block[..length]);
        writer.write_all(&block[..length])?;
        left -= length as u64;
    }
    let file = writer.finish()?;
    Ok(format!("wrote {} bytes to {}, checksum {:016x}", file.size, file.path, content.0))
}

fn read(path: &str, size: u64) -> Result<String, Failure> {
    let mut reader = Reader::open(path)?;
    let mut content = Content::default();
    let mut expected = vec![0; BLOCK_BYTES];
    let mut block = vec![0; BLOCK_BYTES];
    let mut offset = 0;
    loop {
        let length = read_block(&mut reader, &mut block)?;
        if length == 0 {
            break;
        }
        content.fill(&mut expected[..length]);
        if block[..length] != expected[..length] {
            return Err(format!("other bytes than were written, from offset {offset} on").into());
        }
        offset += length as u64;
    }
    if offset != size {
        return Err(format!("{offset} bytes, and not {size}").into());
    }
    Ok(format!("read {offset} bytes of {path}, checksum {:016x}", content.0))
}

/// Fills the block, but for the end of the file.
fn read_block(reader: &mut Reader, block: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    while length < block.len() {
        match reader.read(&mut block[length..])? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

/// Bytes that no block repeats: xorshift, eight bytes a step. The state is the checksum.
struct Content(u64);

impl Default for Content {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Content {
    fn fill(&mut self, block: &mut [u8]) {
        for bytes in block.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            bytes.copy_from_slice(&self.0.to_le_bytes()[..bytes.len()]);
        }
    }
}
