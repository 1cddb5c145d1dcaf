//! Reduces the failure strings of the sources to kinds (OONI df-007 and the older names of the Measurement Kit).

/// The kind of a failure, whatever the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    Timeout,
    Reset,
    Refused,
    Eof,
    /// The certificate is not valid for the name.
    Certificate,
    /// A TLS failure that is not about the certificate.
    Handshake,
    Nxdomain,
    /// The name exists without an address.
    NoAnswer,
    /// SERVFAIL, REFUSED or a misbehaving server.
    DnsServer,
    DnsBogon,
    /// The probe's own network, host or software: unreachable, out of memory, aborted, a fault in its code. Always masked.
    Local,
    /// The server's fault: a redirect that nobody can follow.
    SiteFault,
    Other,
}

impl Failure {
    /// Reads a failure string; `None` for "no failure" (an empty text, or the words that tables use for null).
    pub fn parse(text: &str) -> Option<Failure> {
        let known = match text {
            "" | "null" | "None" | "nan" | "NaN" | "false" | "False" => return None,
            "generic_timeout_error" | "timed_out" | "tcp_timed_out_error" | "dns_timeout_error" => Failure::Timeout,
            "deferred_timeout_error" | "response_timeout" | "timeout" => Failure::Timeout,
            "connection_reset" | "connection_aborted" | "connection_reset_error" => Failure::Reset,
            "connection_refused" | "connection_refused_error" | "tcp_connection_refused_error" => Failure::Refused,
            "eof_error" | "response_never_received" | "connection_lost" => Failure::Eof,
            "ssl_invalid_hostname" | "ssl_unknown_authority" | "ssl_invalid_certificate" => Failure::Certificate,
            "ssl_failed_handshake" | "ssl_error" => Failure::Handshake,
            "dns_nxdomain_error" | "dns_name_error" | "android_dns_cache_no_data" => Failure::Nxdomain,
            "dns_no_answer" | "dns_no_answer_error" => Failure::NoAnswer,
            "dns_refused_error" | "dns_server_misbehaving" | "dns_servfail_error" => Failure::DnsServer,
            "dns_server_failure" | "dns_lookup_error" | "dns_temporary_failure" => Failure::DnsServer,
            "dns_non_recoverable_failure" | "getaddrinfo_failed" => Failure::DnsServer,
            "dns_bogon_error" => Failure::DnsBogon,
            "host_unreachable" | "network_unreachable" | "address_not_available" | "network_down" => Failure::Local,
            "no_route_to_host" | "address_family_not_supported" | "interrupted" | "operation_canceled" => {
                Failure::Local
            }
            // Words of the client for a fault in itself, or for a failure that it does not know.
            "unknown_failure" | "unknown_error" | "connection_already_closed" | "not_connected" => Failure::Local,
            "json_parse_error" | "json_processing_error" | "parser_error" | "compute_advanced_stats_error" => {
                Failure::Local
            }
            "bad_file_descriptor" | "invalid_argument" | "bad_address" | "no_buffer_space" | "not_a_socket" => {
                Failure::Local
            }
            "permission_denied" | "address_in_use" | "protocol_not_supported" | "wrong_protocol_type" => Failure::Local,
            "http_invalid_redirect_location_host" => Failure::SiteFault,
            _ => return Some(Failure::from_free_text(text)),
        };
        Some(known)
    }

    /// Reads free text (`unknown_failure: ...`) of operating systems and libraries. A text without words about a
    /// network counts as a fault of the client, because it cannot show a block.
    fn from_free_text(text: &str) -> Failure {
        let text = text.to_ascii_lowercase();
        let has = |needles: &[&str]| needles.iter().any(|needle| text.contains(needle));
        if has(&["too many redirects", "invalid redirect", "malformed http", "missing location"]) {
            Failure::SiteFault
        } else if has(&HOST) || has(&SOFTWARE) {
            Failure::Local
        } else if has(&["certificate", "x509"]) {
            Failure::Certificate
        } else if has(&["tls", "ssl", "handshake"]) {
            Failure::Handshake
        } else if has(&["timed out", "timeout", "deadline exceeded"]) {
            Failure::Timeout
        } else if has(&["reset by peer", "forcibly closed", "connection reset"]) {
            Failure::Reset
        } else if has(&["refused"]) {
            Failure::Refused
        } else if has(&["eof"]) {
            Failure::Eof
        } else if has(&["no such host"]) {
            Failure::Nxdomain
        } else if has(&CALLS) || !text.contains(' ') {
            // A network call failed, and the text is in another language or names a cause that is not known here.
            Failure::Other
        } else {
            Failure::Local
        }
    }
}

/// Words for faults of the probe's host and its own network.
const HOST: [&str; 10] = [
    "cannot allocate memory",
    "out of memory",
    "too many open files",
    "unreachable",
    "no route to host",
    "permission denied",
    "operation not permitted",
    "cannot assign requested address",
    "address already in use",
    "no space left",
];

/// Words of programs for faults in themselves.
const SOFTWARE: [&str; 22] = [
    "codec can't",
    "codec can\u{2019}t",
    "traceback",
    "nonetype",
    "has no attribute",
    "attributeerror",
    "keyerror",
    "typeerror",
    "valueerror",
    "assertion",
    "unicode",
    "nil pointer",
    "invalid memory address",
    "runtime error",
    "index out of range",
    "panic",
    "context canceled",
    "operation was canceled",
    "use of closed",
    "file already closed",
    "unsupported protocol scheme",
    "not implemented",
];

/// Names of network calls. They appear in a message whatever its language is.
const CALLS: [&str; 10] = [
    "wsarecv",
    "wsasend",
    "connectex",
    "connect:",
    "read tcp",
    "write tcp",
    "dial tcp",
    "read udp",
    "getaddrinfo",
    "lookup ",
];
