//! rotortree with its features `parallel` and `storage`.

use crate::{hex, seconds_of, Node};
use rotortree::{Blake3Hasher, CheckpointPolicy, FlushPolicy, LeanIMT, RotorTree, RotorTreeConfig, TieringConfig};
use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

const N: usize = 4;
const MAX_DEPTH: usize = 14; // that of its own bulk_load; a proof is a copy of so many levels

/// The leaves of its own benchmarks.
fn leaves(from: usize, to: usize) -> Vec<Node> {
    let leaf = |i: usize| {
        let mut leaf = [0; 32];
        leaf[..8].copy_from_slice(&(i as u64).to_le_bytes());
        leaf
    };
    (from..to).map(leaf).collect()
}

fn batches(size: usize, batch: usize) -> impl Iterator<Item = Vec<Node>> {
    (0..size).step_by(batch).map(move |from| leaves(from, size.min(from + batch)))
}

/// Bytes of this process that are in memory now; 0 where the system does not say.
fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    4096 * statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0)
}

pub struct Rotor {
    tree: LeanIMT<Blake3Hasher, N, MAX_DEPTH>,
}

impl Rotor {
    pub fn new() -> Self {
        Self { tree: LeanIMT::new(Blake3Hasher) }
    }

    pub fn grow(&mut self, size: usize, batch: usize) -> String {
        *self = Self::new();
        let before = resident();
        let mut seconds = 0.0;
        for leaves in batches(size, batch) {
            seconds += seconds_of(|| self.tree.insert_many(&leaves).expect("room")).0;
        }
        let root = self.tree.root().expect("leaves");
        format!("{seconds:.9} {} {before} {}", hex(&root), resident())
    }

    pub fn proofs(&self, indices: &[u8]) -> String {
        let indices: Vec<u64> =
            indices.chunks_exact(8).map(|index| u64::from_le_bytes(index.try_into().expect("8 bytes"))).collect();
        let snapshot = self.tree.snapshot();
        let root = snapshot.root().expect("leaves");
        let proof = |&index: &u64| snapshot.generate_proof(index).expect("a leaf");
        let (proving, ()) = seconds_of(|| {
            for index in &indices {
                black_box(proof(index));
            }
        });
        let proofs: Vec<_> = indices.iter().map(proof).collect();
        let verify = || proofs.iter().all(|proof| proof.verify_against(&Blake3Hasher, root).expect("a verdict"));
        let (verifying, valid) = seconds_of(verify);
        assert!(valid, "a proof of rotortree does not verify");
        format!("{proving:.9} {verifying:.9}")
    }
}

/// Written to the log every 10 ms, which is its default, then one checkpoint; all levels stay in memory.
pub fn durable(size: usize, batch: usize, folder: &str) -> String {
    let config = RotorTreeConfig {
        path: PathBuf::from(folder),
        flush_policy: FlushPolicy::default(),
        checkpoint_policy: CheckpointPolicy::Manual,
        tiering: TieringConfig { pin_above_level: 0 },
        verify_checkpoint: true,
    };
    let tree = RotorTree::<Blake3Hasher, N, MAX_DEPTH>::open(Blake3Hasher, config).expect("a new store");
    let mut seconds = 0.0;
    let mut last = None;
    for leaves in batches(size, batch) {
        let (taken, (_, token)) = seconds_of(|| tree.insert_many(&leaves).expect("room"));
        seconds += taken;
        last = Some(token);
    }
    seconds += seconds_of(|| last.expect("leaves").wait()).0;
    let (checkpoint, ()) = seconds_of(|| tree.checkpoint().expect("room on the disk"));
    let root = tree.root().expect("leaves");
    tree.close().expect("closed");
    format!("{seconds:.9} {:.9} {}", seconds + checkpoint, hex(&root))
}
