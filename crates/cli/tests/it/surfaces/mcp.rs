//! The Model Context Protocol through its own client.

use super::House;

#[test]
#[ignore = "needs npm's @modelcontextprotocol/sdk: cargo xtask test --only surfaces"]
fn the_sdks_client_reads_resources_and_uses_tools() {
    House::open().node("client_mcp.mjs");
}
