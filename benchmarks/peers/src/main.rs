//! Other libraries at the work of a batch verifier, on the points of a file, one core.
//!
//! `bonsai-peers FILE` reads FILE: n as 8 bytes, then n points T, n points U (compressed, 48 bytes each), n weights rho (16 bytes) and n
//! scalars rho r (32 bytes), integers little-endian.  Then each line of standard input asks, and one line of standard output answers:
//!
//!     sums LIBRARY          sum rho T, sum rho U, sum (rho r) U     ->  seconds of each of the three, and the three sums, compressed
//!     decode LIBRARY        the 2n points from bytes, each checked  ->  seconds
//!     pairing LIBRARY       two pairings and one comparison         ->  seconds of one
//!
//! LIBRARY: blst, arkworks, and mcl with the feature `mcl`.  Every answer is a fresh run; nothing is kept between them but decoded points.

use std::fs;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

mod arkworks;
mod blst_peer;
#[cfg(feature = "mcl")]
mod mcl;

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
    /// All points from bytes, on the curve and in the subgroup; None where the library reads another form.
    fn decode(&self) -> Option<bool>;
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
        "decode" => {
            assert!(black_box(peer.decode())?, "a point was refused");
            Some(format!("{:.9}", began.elapsed().as_secs_f64()))
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

fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).expect("usage: bonsai-peers FILE");
    let batch = read(&path)?;
    let blst = blst_peer::Blst::new(&batch);
    let arkworks = arkworks::Arkworks::new(&batch);
    #[cfg(feature = "mcl")]
    let mcl = mcl::Mcl::new(&batch);
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (question, library) = line.split_once(' ').unwrap_or((line.as_str(), ""));
        let peer: Option<&dyn Peer> = match library {
            "blst" => Some(&blst),
            "arkworks" => Some(&arkworks),
            #[cfg(feature = "mcl")]
            "mcl" => Some(&mcl),
            _ => None,
        };
        let reply = peer.and_then(|peer| answer(peer, question)).unwrap_or_else(|| format!("unknown: {line}"));
        println!("{reply}");
        io::stdout().flush()?;
    }
    Ok(())
}
