fn main() -> std::io::Result<()> {
    bonsai_tree_peers::run()
}
