//! Computing without measure.

use std::hint::black_box;

use bailiwick_guest::Failure;

pub(crate) fn spin(_: u64) -> Result<String, Failure> {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

pub(crate) fn memory(number: u64) -> Result<String, Failure> {
    let mut held: Vec<Vec<u8>> = Vec::new();
    while number == 0 || (held.len() as u64) < number {
        held.push(black_box(vec![1; 1 << 20]));
    }
    Ok(format!("{} MiB", held.len()))
}

pub(crate) fn stack(_: u64) -> Result<String, Failure> {
    Ok(deeper(0).to_string())
}

fn deeper(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    if black_box(depth) == u64::MAX { 0 } else { deeper(depth + 1) + frame[0] }
}

pub(crate) fn panic(number: u64) -> Result<String, Failure> {
    panic!("a panic with the number {number}");
}
