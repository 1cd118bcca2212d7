//! Which addresses tools and agents elsewhere may have.
//!
//! Invariant: the address that is screened is the one that is connected to. Names are looked up
//! once, here; addresses in place of names are screened before the request is made.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use futures_util::future::FutureExt as _;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::Reach;
use crate::net;

/// Connections that reach only what they may.
pub fn client(reach: Reach) -> Result<reqwest::Client, String> {
    net::client(net::CONNECT)
        .map_err(|error| error.to_string())?
        // A proxy would look up names by itself, where nobody screens them.
        .no_proxy()
        .dns_resolver(Arc::new(Screen(reach)))
        .build()
        .map_err(|error| error.without_url().to_string())
}

/// Looks names up, and leaves out addresses that must not be reached.
struct Screen(Reach);

impl Resolve for Screen {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0;
        async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> =
                found.filter(|addr| reach == Reach::Private || is_public(addr.ip())).collect();
            if allowed.is_empty() {
                let error = "the name stands for no public address";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, error).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        }
        .boxed()
    }
}

/// Whether an address may be asked for: names are screened when they are looked up.
pub fn is_allowed(url: &Url, reach: Reach) -> bool {
    let Some(host) = url.host_str() else { return false };
    // IPv6 stands in brackets.
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(addr) => reach == Reach::Private || is_public(addr),
        Err(_) => true,
    }
}

/// Whether an address is one of the public internet.
fn is_public(addr: IpAddr) -> bool {
    match addr {
        IpAddr::V4(addr) => is_public_v4(addr),
        IpAddr::V6(addr) => is_public_v6(addr),
    }
}

fn is_public_v4(addr: Ipv4Addr) -> bool {
    let [a, b, c, _] = addr.octets();
    !(a == 0
        || addr.is_loopback()
        || addr.is_private()
        // Where clouds keep their metadata.
        || addr.is_link_local()
        // Shared by the customers of a provider.
        || (a == 100 && (b & 0xc0) == 64)
        // For protocols, for documents, and for benchmarks.
        || (a, b, c) == (192, 0, 0)
        || addr.is_documentation()
        || (a == 198 && (b & 0xfe) == 18)
        || (a, b, c) == (192, 88, 99)
        // Multicast, reserved, broadcast.
        || a >= 224)
}

fn is_public_v6(addr: Ipv6Addr) -> bool {
    let parts = addr.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // IPv4 in other clothes: mapped, translated, 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // Teredo, benchmarks, documents, protocols.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // What is assigned to the public begins with 001; all else is local or reserved.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for addr in ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450::1"] {
            assert!(is_public(addr.parse().unwrap()), "{addr}");
        }
        for addr in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "ff02::1",
            "::127.0.0.1",
        ] {
            assert!(!is_public(addr.parse().unwrap()), "{addr}");
        }
    }

    #[test]
    fn addresses_in_all_their_spellings_are_screened() {
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://１２７.0.0.1/",
        ] {
            assert!(!is_allowed(&url.parse().unwrap(), Reach::Public), "{url}");
            assert!(is_allowed(&url.parse().unwrap(), Reach::Private), "{url}");
        }
        assert!(is_allowed(&"http://1.1.1.1/".parse().unwrap(), Reach::Public));
    }
}
