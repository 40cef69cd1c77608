//! zk-kit-lean-imt and rotortree over circom's Poseidon, which neither brings along: the hash is light-poseidon's.

use crate::{hex, seconds_of, Node};
use ark_bn254::Fr;
use lean_imt::hashed_tree::{HashedLeanIMT, LeanIMTHasher};
use light_poseidon::{Poseidon, PoseidonBytesHasher};
use rotortree::{HashState, Hasher, LeanIMT};
use std::cell::RefCell;

thread_local! {
    static POSEIDON: RefCell<Poseidon<Fr>> = RefCell::new(Poseidon::<Fr>::new_circom(2).expect("two inputs"));
}

fn hash(children: &[u8]) -> Node {
    let (left, right) = children.split_at(32);
    POSEIDON.with_borrow_mut(|poseidon| poseidon.hash_bytes_le(&[left, right]).expect("field elements"))
}

struct ZkKit;

impl LeanIMTHasher<32> for ZkKit {
    fn hash(children: &[u8]) -> Node {
        hash(children)
    }
}

pub fn zk_kit(leaves: &[Node]) -> String {
    let mut tree = HashedLeanIMT::<32, ZkKit>::new(&[], ZkKit).expect("an empty tree");
    let (seconds, ()) = seconds_of(|| tree.insert_many(leaves).expect("leaves"));
    format!("{seconds:.9} {}", hex(&tree.root().expect("leaves")))
}

#[derive(Clone)]
struct Rotor;

struct Children(Vec<u8>);

impl HashState for Children {
    fn update(&mut self, data: &[u8]) {
        self.0.extend_from_slice(data);
    }

    fn finalize(self) -> Node {
        hash(&self.0)
    }
}

impl Hasher for Rotor {
    type State = Children;

    fn new_state(&self) -> Children {
        Children(Vec::new())
    }

    fn hash_children(&self, children: &[Node]) -> Node {
        hash(children.as_flattened())
    }
}

pub fn rotortree(leaves: &[Node]) -> String {
    let mut tree = LeanIMT::<Rotor, 2, 32>::new(Rotor);
    let (seconds, root) = seconds_of(|| tree.insert_many(leaves).expect("room"));
    format!("{seconds:.9} {}", hex(&root))
}
