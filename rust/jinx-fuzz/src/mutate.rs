//! Damages the files of a dataset. The fuzzer's bytes say which changes to make.

use super::footers::signed;
use super::place::Files;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_format::footer::footer_range;

/// Numbers that may break calculations.
const NUMBERS: [&[u8]; 16] = [
    b"0",
    b"-1",
    b"1",
    b"63",
    b"64",
    b"65536",
    b"4294967296",
    b"9223372036854775807",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e400",
    b"1.5",
    b"null",
    b"\"x\"",
    b"[]",
];

/// Reads the fuzzer's bytes one after another. After the last one, every byte is 0.
pub(super) struct Bytes<'d>(pub(super) &'d [u8]);

impl<'d> Bytes<'d> {
    pub(super) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let drawn = usize::from(u16::from_le_bytes([self.byte(), self.byte()]));
        drawn.checked_rem(end).unwrap_or_default()
    }

    pub(super) fn take(&mut self, count: usize) -> &'d [u8] {
        let (first, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        first
    }
}

/// Applies up to 16 changes to the files.
pub(super) fn mutate(files: &mut Files, program: &mut Bytes<'_>) {
    for _ in 0..16 {
        if program.is_empty() || files.is_empty() {
            return;
        }
        let (op, which) = (program.byte(), program.byte());
        let count = files.len();
        let others: Vec<u8> = files[usize::from(which / 16) % count].1.clone();
        let (name, bytes) = &mut files[usize::from(which % 16) % count];
        change(bytes, op % 10, &others, program);
        if op & 128 != 0 {
            seal(name, bytes);
        }
    }
}

fn change(bytes: &mut Vec<u8>, op: u8, others: &[u8], program: &mut Bytes<'_>) {
    let at = program.below(bytes.len());
    match op {
        0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (program.byte() % 8)),
        1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = program.byte()),
        2 => drop(bytes.splice(at..at, program.take(16).to_vec())),
        3 => drop(bytes.drain(at..bytes.len().min(at + usize::from(program.byte())))),
        4 => bytes.truncate(at),
        5 | 6 => put_number(bytes, at, program),
        7 => {
            let from = program.below(others.len());
            let part = others[from..].iter().take(usize::from(program.byte())).copied().collect::<Vec<_>>();
            drop(bytes.splice(at..at, part));
        }
        8 => {
            // Most of the reader's decisions depend on the footer and its arrays, which are at the end of the file.
            let back = program.below(2048).min(bytes.len());
            let at = bytes.len() - back;
            bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = program.byte());
        }
        _ => *bytes = others.to_vec(),
    }
}

/// Replaces the first number at or after `at` with one of [`NUMBERS`].
fn put_number(bytes: &mut Vec<u8>, at: usize, program: &mut Bytes<'_>) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|found| at + found) else { return };
    let length = bytes[start..].iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len() - start);
    let number = NUMBERS[usize::from(program.byte()) % NUMBERS.len()];
    drop(bytes.splice(start..start + length, number.to_vec()));
}

/// Corrects the checksum of a footer or a manifest.
fn seal(name: &str, bytes: &mut Vec<u8>) {
    if name == "jinx.json" {
        *bytes = [signed(bytes), b"\n".to_vec()].concat();
    } else if let Ok((offset, length)) = footer_range(bytes, to_u64(bytes.len()))
        && let (Ok(start), Ok(length)) = (to_usize(offset, "at"), to_usize(length, "length"))
    {
        let footer = signed(&bytes[start..start + length]);
        let trailer = format!("\n{offset}\n");
        bytes.truncate(start);
        bytes.extend_from_slice(&footer);
        bytes.extend_from_slice(trailer.as_bytes());
    }
}
