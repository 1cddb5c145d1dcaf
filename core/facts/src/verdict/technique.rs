//! The taxonomy of blocking techniques, and the one table that maps it to wire names (decision keys-and-roles,
//! intelligence specification 0.4).

macro_rules! techniques {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $dotted:literal, $wire:literal, $block:literal;)+) => {
        /// A blocking technique. Dots separate levels: `tls.reset` is a kind of `tls`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Technique { $($(#[doc = $doc])* $name = $code,)+ }

        impl Technique {
            /// Every technique, by code.
            pub const ALL: &'static [Technique] = &[$(Technique::$name,)+];

            /// The stored number, never 0.
            pub const fn code(self) -> u8 { self as u8 }

            pub const fn from_code(code: u8) -> Option<Technique> {
                match code { $($code => Some(Technique::$name),)+ _ => None }
            }

            /// The dotted name (`technique` on the wire).
            pub const fn as_str(self) -> &'static str {
                match self { $(Technique::$name => $dotted,)+ }
            }

            /// `blockingMethod` and `methods` on the wire.
            pub const fn method(self) -> &'static str {
                match self { $(Technique::$name => $wire,)+ }
            }

            /// `blockType` on the wire.
            pub const fn block_type(self) -> &'static str {
                match self { $(Technique::$name => $block,)+ }
            }
        }
    };
}

techniques! {
    /// DNS interference; the evidence does not show the kind.
    Dns = 1, "dns", "dns", "dns_block";
    /// The resolver denies a name that exists.
    DnsNxdomain = 2, "dns.nxdomain", "dns-nxdomain", "dns_block";
    /// The resolver answers without an address.
    DnsNoAnswer = 3, "dns.no_answer", "dns-no-answer", "dns_block";
    /// The resolver refuses or fails.
    DnsRefused = 4, "dns.refused", "dns-refused", "dns_block";
    /// The resolver stays silent.
    DnsTimeout = 5, "dns.timeout", "dns-timeout", "dns_block";
    /// A wrong answer.
    DnsInjection = 6, "dns.injection", "dns-poison", "dns_block";
    /// A private or reserved address as the answer.
    DnsInjectionBogon = 7, "dns.injection.bogon", "dns-poison", "dns_block";
    /// The address of a block page as the answer.
    DnsInjectionBlockpage = 8, "dns.injection.blockpage", "dns-poison", "dns_block";
    /// Connections to the address fail; the evidence does not show how.
    Tcp = 9, "tcp", "tcp", "ip_block";
    TcpTimeout = 10, "tcp.timeout", "tcp-timeout", "ip_block";
    TcpReset = 11, "tcp.reset", "tcp-reset", "dpi_block";
    TcpRefused = 12, "tcp.refused", "tcp-refused", "ip_block";
    /// TLS fails; the evidence does not show how.
    Tls = 13, "tls", "tls", "dpi_block";
    TlsTimeout = 14, "tls.timeout", "tls-timeout", "dpi_block";
    TlsReset = 15, "tls.reset", "tls-reset", "dpi_block";
    /// The peer closes during the handshake.
    TlsEof = 16, "tls.eof", "tls-eof", "dpi_block";
    /// Another certificate than the site's.
    TlsMitm = 17, "tls.mitm", "tls-cert-invalid", "dpi_block";
    /// HTTP fails; the evidence does not show how.
    Http = 18, "http", "http", "dpi_block";
    HttpTimeout = 19, "http.timeout", "http-timeout", "dpi_block";
    HttpReset = 20, "http.reset", "tcp-reset", "dpi_block";
    HttpEof = 21, "http.eof", "http-eof", "dpi_block";
    /// Another page than the site's.
    HttpBlockpage = 22, "http.blockpage", "blockpage", "dpi_block";
    /// Status 451.
    Http451 = 23, "http.451", "http-451", "dpi_block";
    /// A redirect to a page that is not the site's.
    HttpRedirect = 24, "http.redirect", "http-redirect", "dpi_block";
    /// Transfers start and then stall.
    Throttling = 25, "throttling", "throttling", "dpi_block";
    /// TLS fails with the site's name and works with another name on the same address.
    TlsResetSni = 26, "tls.reset.sni", "sni-filtering", "dpi_block";
}

impl Technique {
    /// Number of levels of the dotted name.
    pub fn depth(self) -> usize {
        self.as_str().split('.').count()
    }

    /// The technique with this dotted name.
    pub fn from_dotted(name: &str) -> Option<Technique> {
        Technique::ALL.iter().copied().find(|technique| technique.as_str() == name)
    }

    /// The first level: `dns`, `tcp`, `tls`, `http` or `throttling`.
    pub fn layer(self) -> &'static str {
        self.as_str().split('.').next().unwrap_or("")
    }

    /// True if the technique has this name or lies below it: hierarchical comparison.
    pub fn is_within(self, ancestor: &str) -> bool {
        self.as_str().strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}
