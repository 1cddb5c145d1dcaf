//! Checks the dependency policy of `deny.toml`: only allowed licences, no banned crate, every crate from crates.io. It
//! works offline and takes a second, while compiling cargo-deny takes minutes.

use std::collections::BTreeSet;

use crate::packages::{Package, REGISTRY};
use crate::run::Result;

pub fn licences(packages: &[Package], policy: &str) -> Result<()> {
    let allowed = list(policy, "allow")?;
    let banned = list(policy, "deny")?;
    let mut problems: Vec<String> = Vec::new();
    for Package { name, license, source, .. } in packages {
        let license = license.as_deref();
        if !license.is_some_and(|licence| satisfies(licence, &allowed)) {
            problems.push(format!("{name}: licence {} is not allowed", license.unwrap_or("(none)")));
        }
        if banned.contains(name.as_str()) {
            problems.push(format!("{name}: banned"));
        }
        if source.as_deref().is_some_and(|source| source != REGISTRY) {
            problems.push(format!("{name}: not from crates.io"));
        }
    }
    eprintln!("--- licences: {} packages", packages.len());
    if problems.is_empty() { Ok(()) } else { Err(format!("dependency policy:\n  {}", problems.join("\n  "))) }
}

/// The strings in `key = [...]` of the policy.
pub fn list<'a>(policy: &'a str, key: &str) -> Result<BTreeSet<&'a str>> {
    let start = format!("\n{key} = [");
    let rest = policy.split_once(&start).map(|(_, rest)| rest).ok_or_else(|| format!("deny.toml has no {key}"))?;
    let items = rest.split_once(']').map_or(rest, |(items, _)| items);
    Ok(items.split('"').skip(1).step_by(2).collect())
}

/// True if the allowed licences can satisfy an SPDX expression. `/` is the old way to write `OR`.
fn satisfies(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { tokens: &tokens, allowed };
    parser.any() == Some(true) && parser.tokens.is_empty()
}

struct Parser<'a> {
    tokens: &'a [&'a str],
    allowed: &'a BTreeSet<&'a str>,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut met = self.all()?;
        while self.take("OR") {
            met |= self.all()?;
        }
        Some(met)
    }

    fn all(&mut self) -> Option<bool> {
        let mut met = self.one()?;
        while self.take("AND") {
            met &= self.one()?;
        }
        Some(met)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let met = self.any()?;
            return self.take(")").then_some(met);
        }
        let licence = self.next()?;
        if self.take("WITH") {
            let exception = self.next()?;
            return Some(self.allowed.contains(format!("{licence} WITH {exception}").as_str()));
        }
        Some(self.allowed.contains(licence))
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.tokens.first() == Some(&token);
        if found {
            self.next();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::{read_text, root};

    #[test]
    fn expressions_follow_spdx_precedence() {
        let allowed = BTreeSet::from(["MIT", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"]);
        for met in
            ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-2.0", "(MIT OR GPL-3.0) AND Unicode-3.0", "GPL-3.0 OR MIT AND MIT"]
        {
            assert!(satisfies(met, &allowed), "{met}");
        }
        for unmet in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "", "MIT OR", "(MIT", "MIT)"] {
            assert!(!satisfies(unmet, &allowed), "{unmet}");
        }
        assert!(satisfies("GPL-3.0 OR Apache-2.0 WITH LLVM-exception", &allowed));
    }

    #[test]
    fn the_policy_file_is_understood() {
        let policy = read_text(&root().join("deny.toml")).unwrap();
        assert!(list(&policy, "allow").unwrap().contains("MIT"));
        assert!(list(&policy, "deny").unwrap().contains("openssl-sys"));
        assert!(list(&policy, "ignore").is_ok());
    }
}
