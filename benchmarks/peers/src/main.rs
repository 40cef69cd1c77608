//! Other libraries at the work of a batch verifier and of a prover, one core.
//!
//! Each line of standard input asks, and one line of standard output answers; what can be asked depends on the words after the name:
//!
//! `bonsai-peers batch FILE`, with FILE: n as 8 bytes, then n points T, n points U (compressed, 48 bytes each), n weights rho (16 bytes)
//! and n scalars rho r (32 bytes), integers little-endian; LIBRARY is blst, arkworks, and mcl with the feature `mcl`:
//!
//!     sums LIBRARY          sum rho T, sum rho U, sum (rho r) U     ->  seconds of each of the three, and the three sums, compressed
//!     pairing LIBRARY       two pairings and one comparison         ->  seconds of one
//!
//! `bonsai-peers yardstick`:
//!
//!     yardstick blst        sum of 65,536 random points by random scalars of 255 bits  ->  seconds
//!
//! `bonsai-peers groth16 R1CS WTNS`, with the files of circom and snarkjs:
//!
//!     groth16 arkworks      a proof of these rows                   ->  seconds
//!
//! Every answer is a fresh run; nothing is kept between them but decoded points and Groth16's key.

use std::fs;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

mod arkworks;
mod blst_peer;
mod groth16;
#[cfg(feature = "mcl")]
mod mcl;
mod yardstick;

/// What a batch is made of.
pub struct Batch {
    pub t: Vec<[u8; 48]>,
    pub u: Vec<[u8; 48]>,
    pub rho: Vec<[u8; 16]>,
    pub rho_r: Vec<[u8; 32]>,
}

/// One library at its work.
pub trait Peer {
    /// Number 0, 1, 2: sum rho T, sum rho U, sum (rho r) U, compressed.
    fn sum(&self, number: usize) -> [u8; 48];
    /// e(P, Q) = e(P, Q) by two Miller loops and one final exponentiation.
    fn pairing(&self) -> bool;
}

const PAIRINGS: u32 = 32;

fn chunks<const N: usize>(data: &mut &[u8], n: usize) -> Vec<[u8; N]> {
    let (head, tail) = data.split_at(N * n);
    *data = tail;
    head.chunks_exact(N).map(|c| c.try_into().expect("N bytes")).collect()
}

fn read(path: &str) -> io::Result<Batch> {
    let file = fs::read(path)?;
    let n = u64::from_le_bytes(file[..8].try_into().expect("8 bytes")) as usize;
    let mut rest = &file[8..];
    Ok(Batch { t: chunks(&mut rest, n), u: chunks(&mut rest, n), rho: chunks(&mut rest, n), rho_r: chunks(&mut rest, n) })
}

fn answer(peer: &dyn Peer, question: &str) -> Option<String> {
    let began = Instant::now();
    match question {
        "sums" => {
            let mut seconds = Vec::new();
            let mut sums = Vec::new();
            for number in 0..3 {
                let began = Instant::now();
                let sum = black_box(peer.sum(number));
                seconds.push(format!("{:.9}", began.elapsed().as_secs_f64()));
                sums.push(sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
            }
            Some(format!("{} {}", seconds.join(" "), sums.join(" ")))
        }
        "pairing" => {
            for _ in 0..PAIRINGS {
                assert!(black_box(peer.pairing()), "two equal pairings differ");
            }
            Some(format!("{:.9}", began.elapsed().as_secs_f64() / f64::from(PAIRINGS)))
        }
        _ => None,
    }
}

fn serve(answer: impl Fn(&str, &str) -> Option<String>) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (question, library) = line.split_once(' ').unwrap_or((line.as_str(), ""));
        println!("{}", answer(question, library).unwrap_or_else(|| format!("unknown: {line}")));
        io::stdout().flush()?;
    }
    Ok(())
}

fn serve_batch(path: &str) -> io::Result<()> {
    let batch = read(path)?;
    let blst = blst_peer::Blst::new(&batch);
    let arkworks = arkworks::Arkworks::new(&batch);
    #[cfg(feature = "mcl")]
    let mcl = mcl::Mcl::new(&batch);
    serve(|question, library| {
        let peer: &dyn Peer = match library {
            "blst" => &blst,
            "arkworks" => &arkworks,
            #[cfg(feature = "mcl")]
            "mcl" => &mcl,
            _ => return None,
        };
        answer(peer, question)
    })
}

fn seconds_of<T>(call: impl FnOnce() -> T) -> String {
    let began = Instant::now();
    black_box(call());
    format!("{:.9}", began.elapsed().as_secs_f64())
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["batch", file] => serve_batch(file),
        ["yardstick"] => {
            let yardstick = yardstick::Yardstick::new();
            serve(|question, library| match (question, library) {
                ("yardstick", "blst") => Some(seconds_of(|| yardstick.sum())),
                _ => None,
            })
        }
        ["groth16", r1cs, wtns] => {
            let prover = groth16::Prover::new(&fs::read(r1cs)?, &fs::read(wtns)?);
            serve(|question, library| match (question, library) {
                ("groth16", "arkworks") => Some(seconds_of(|| prover.prove())),
                _ => None,
            })
        }
        _ => panic!("usage: bonsai-peers batch FILE | yardstick | groth16 R1CS WTNS"),
    }
}
