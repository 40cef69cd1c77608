//! The crate sinsemilla: one hash after the other, as its own benchmark of a batch.

use crate::{hex, seconds_of, Node};
use group::ff::PrimeField;
use sinsemilla::HashDomain;

const NODE_BITS: usize = 255;

pub struct Sinsemilla {
    domain: HashDomain,
}

fn bits(node: &Node) -> impl Iterator<Item = bool> + '_ {
    (0..NODE_BITS).map(|i| node[i / 8] >> (i % 8) & 1 == 1)
}

impl Sinsemilla {
    pub fn new() -> Self {
        Self { domain: HashDomain::new("z.cash:Orchard-MerkleCRH") }
    }

    /// Level 0: ten zero bits, then left and right, least significant bit first (Zcash protocol, 5.4.1.3).
    pub fn hashes(&self, nodes: &[Node]) -> String {
        let messages: Vec<Vec<bool>> = nodes
            .chunks_exact(2)
            .map(|pair| [false; 10].into_iter().chain(bits(&pair[0])).chain(bits(&pair[1])).collect())
            .collect();
        let (seconds, found) = seconds_of(|| {
            let hash = |message: &Vec<bool>| self.domain.hash(message.iter().copied()).expect("no exceptional case");
            messages.iter().map(hash).collect::<Vec<_>>()
        });
        format!("{seconds:.9} {}", hex(found.iter().map(|x| x.to_repr()).collect::<Vec<_>>().as_flattened()))
    }
}
