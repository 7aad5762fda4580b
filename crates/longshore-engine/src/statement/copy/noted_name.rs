//! What files are called in the ledger, which all users of a database can read.

/// The name of a file as it is noted: an address without credentials and signatures.
pub(super) fn shown(name: &str) -> String {
    let Some((scheme, rest)) = name.split_once("://") else { return name.to_owned() };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(host_end);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = match path.split_once('?') {
        Some((path, query)) if is_signed(query) => path,
        _ => path,
    };
    format!("{scheme}://{host}{path}")
}

/// Whether a query of an address has what gives access to a file, which nobody else shall see.
fn is_signed(query: &str) -> bool {
    query.split('&').any(|part| {
        let name = part.split('=').next().unwrap_or(part).to_ascii_lowercase();
        name.starts_with("x-amz-") || ["sig", "signature", "token", "access_token", "key"].contains(&name.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn addresses_are_noted_without_secrets() {
        for (name, expected) in [
            ("/inbox/a?sig=1.csv", "/inbox/a?sig=1.csv"),
            ("https://h/a.csv", "https://h/a.csv"),
            ("https://me:sesame@h/a.csv?day=3", "https://h/a.csv?day=3"),
            ("https://h/a.csv?day=3&X-Amz-Signature=12ab", "https://h/a.csv"),
            ("https://h?token=x", "https://h"),
            ("s3://bucket/key@1", "s3://bucket/key@1"),
        ] {
            assert_eq!(shown(name), expected, "{name}");
        }
    }
}
