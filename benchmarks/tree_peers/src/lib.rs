//! Other libraries at the work of the trees and of their hashes.
//!
//! Each line of standard input asks, and one line of standard output answers; what can be asked depends on the word after the name:
//!
//! `bonsai-tree-peers blake3`: rotortree, N = 4, over BLAKE3; leaf i is i, little-endian:
//!
//!     grow SIZE BATCH            insert_many in batches of so many leaves, in memory  ->  seconds, root, bytes resident before and after
//!     proofs FILE                one proof for each index of the file (8 bytes, little-endian), from the tree that grew last, and its
//!                                verification against the root                        ->  seconds of the proofs, of the verifications
//!     durable SIZE BATCH FOLDER  insert_many into a new store, checkpoint             ->  seconds until the last token, and until the end of
//!                                                                                         the checkpoint; root
//!
//! `bonsai-tree-peers poseidon`: binary, circom's Poseidon over BN254 by light-poseidon, leaves of 32 bytes, little-endian, from a file:
//!
//!     zk-kit FILE                insert_many of all leaves                            ->  seconds, root
//!     rotortree FILE             the same                                             ->  seconds, root
//!
//! `bonsai-tree-peers sinsemilla`: Orchard's Merkle hash at level 0 of pairs of nodes (64 bytes) from a file:
//!
//!     sinsemilla FILE            hashes from messages that are bits already           ->  seconds of all, and the hashes
//!
//! rotortree takes as many threads as RAYON_NUM_THREADS says, the others one.  `bonsai-tree-peers-jemalloc` is the same program over the
//! allocator that an example of rotortree takes; its benchmarks take the system's.

use std::fs;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

mod poseidon;
mod rotor;
mod sinsemilla_peer;

pub type Node = [u8; 32];

pub fn seconds_of<T>(call: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let found = black_box(call());
    (began.elapsed().as_secs_f64(), found)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn nodes(path: &str) -> Vec<Node> {
    let file = fs::read(path).expect("a file of nodes");
    file.chunks_exact(32).map(|node| node.try_into().expect("32 bytes")).collect()
}

fn serve(mut answer: impl FnMut(&[&str]) -> Option<String>) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        println!("{}", answer(&words).unwrap_or_else(|| format!("unknown: {line}")));
        io::stdout().flush()?;
    }
    Ok(())
}

fn number(word: &str) -> usize {
    word.parse().expect("a number")
}

/// Serves until standard input ends.
pub fn run() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("blake3") => {
            let mut rotor = rotor::Rotor::new();
            serve(|words| match *words {
                ["grow", size, batch] => Some(rotor.grow(number(size), number(batch))),
                ["proofs", file] => Some(rotor.proofs(&fs::read(file).expect("a file of indices"))),
                ["durable", size, batch, folder] => Some(rotor::durable(number(size), number(batch), folder)),
                _ => None,
            })
        }
        Some("poseidon") => serve(|words| match *words {
            ["zk-kit", file] => Some(poseidon::zk_kit(&nodes(file))),
            ["rotortree", file] => Some(poseidon::rotortree(&nodes(file))),
            _ => None,
        }),
        Some("sinsemilla") => {
            let peer = sinsemilla_peer::Sinsemilla::new();
            serve(|words| match *words {
                ["sinsemilla", file] => Some(peer.hashes(&nodes(file))),
                _ => None,
            })
        }
        _ => panic!("usage: bonsai-tree-peers blake3 | poseidon | sinsemilla"),
    }
}
