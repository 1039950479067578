//! Large files, a piece at a time.

use std::fs::File;
use std::io::{self, Read, Write};

use serde_json::{Value, json};

use crate::{Done, Step, word};

const PIECE: usize = 64 << 10;

pub(crate) fn perform(verb: &str, step: &Step<'_>) -> Done {
    let done = match verb {
        "fill" => fill(step.text(1), step.number(2)),
        "sum" => sum(step.text(1)),
        _ => copy(step.text(1), step.text(2)),
    };
    done.map_err(word)
}

/// Bytes that tell by their place where they belong.
fn fill(path: &str, size: u64) -> io::Result<Value> {
    let mut file = File::create(path)?;
    let mut at = 0;
    while at < size {
        let length = usize::try_from(size - at).unwrap_or(PIECE).min(PIECE);
        file.write_all(&piece(at)[..length])?;
        at += length as u64;
    }
    file.sync_all()?;
    Ok(at.into())
}

fn piece(at: u64) -> Vec<u8> {
    let mut number = at / PIECE as u64 + 1;
    let mut piece = Vec::with_capacity(PIECE);
    while piece.len() < PIECE {
        number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        piece.extend_from_slice(&number.to_le_bytes());
    }
    piece
}

/// How long it is, and a sum of its bytes and of where they are.
fn sum(path: &str) -> io::Result<Value> {
    let mut file = File::open(path)?;
    let (mut size, mut sum, mut piece) = (0_u64, 0_u64, vec![0; PIECE]);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(json!([size, sum]));
        }
        for byte in &piece[..read] {
            sum = sum.rotate_left(5) ^ u64::from(*byte);
        }
        size += read as u64;
    }
}

fn copy(from: &str, to: &str) -> io::Result<Value> {
    let (mut from, mut to) = (File::open(from)?, File::create(to)?);
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            break;
        }
        to.write_all(&piece[..read])?;
    }
    to.sync_all()?;
    Ok(Value::Null)
}
