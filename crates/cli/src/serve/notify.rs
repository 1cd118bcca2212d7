//! Telling systemd that the server takes requests (`Type=notify`), so that whoever waits for the
//! unit waits for that.

use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Says that requests are taken. Nothing happens where nobody asked to be told.
pub(super) fn ready() {
    tell("READY=1");
}

/// Says that the server is about to stop.
pub(super) fn stopping() {
    tell("STOPPING=1");
}

fn tell(what: &str) {
    if let Err(error) = try_tell(what) {
        tracing::warn!("systemd could not be told {what}: {error}");
    }
}

fn try_tell(what: &str) -> io::Result<()> {
    let Some(place) = env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let address = match place.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(&place)?,
    };
    UnixDatagram::unbound()?.send_to_addr(what.as_bytes(), &address)?;
    Ok(())
}
