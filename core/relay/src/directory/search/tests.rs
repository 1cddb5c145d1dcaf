use std::collections::BTreeMap;

use super::super::tests::Directory;
use super::*;
use engine::testing::Dice;

fn listed(name: Option<&str>, capabilities: &[&str], rank: u8, second: i64) -> ListedAgent {
    ListedAgent {
        name: name.map(str::to_owned),
        capabilities: capabilities.iter().map(|name| (*name).to_owned()).collect(),
        signing: [1; 32],
        encryption: [2; 32],
        rank,
        registered: Timestamp::from_seconds(1_000_000 + second),
    }
}

fn did(number: u64) -> Did {
    let mut dice = Dice(number.wrapping_add(77));
    std::array::from_fn(|_| dice.below(256) as u8)
}

/// A directory, and the same agents in a plain list.
struct World {
    directory: Directory,
    agents: BTreeMap<Did, ListedAgent>,
}

impl World {
    fn new() -> World {
        World { directory: Directory::new(), agents: BTreeMap::new() }
    }

    fn put(&mut self, did: Did, listed: ListedAgent) {
        self.directory.run(&Index { did, listed: listed.clone() }).unwrap();
        self.agents.insert(did, listed);
    }

    fn drop(&mut self, did: Did) {
        self.directory.run(&UnlistAgent { did }).unwrap();
        self.agents.remove(&did);
    }

    /// The expected result, from the list.
    fn expected(&self, sought: &Sought, capability: Option<&str>) -> Vec<Did> {
        let text = match sought {
            Sought::Everybody => String::new(),
            Sought::Name(text) | Sought::Did(text) => fold(text),
        };
        let has = |listed: &ListedAgent| {
            capability.is_none_or(|wanted| listed.capabilities.iter().any(|name| fold(name) == fold(wanted)))
        };
        let class = |did: &Did, listed: &ListedAgent| match sought {
            Sought::Everybody => Some(1),
            Sought::Did(exact) if base58(did) == *exact => Some(0),
            Sought::Did(_) => fold(&base58(did)).starts_with(&text).then_some(1),
            Sought::Name(_) => {
                let name = fold(listed.name.as_deref()?);
                let word = |word: &str| word.starts_with(&text);
                match name.starts_with(&text) {
                    true => Some(1),
                    false => name.split(|c: char| !c.is_alphanumeric()).any(word).then_some(2),
                }
            }
        };
        let mut all: Vec<(u8, std::cmp::Reverse<u8>, Timestamp, Did)> = self
            .agents
            .iter()
            .filter(|(_, listed)| has(listed))
            .filter_map(|(did, listed)| {
                Some((class(did, listed)?, std::cmp::Reverse(listed.rank), listed.registered, *did))
            })
            .collect();
        all.sort();
        all.into_iter().map(|(.., did)| did).collect()
    }

    /// All pages, one after the other.
    fn found(&self, sought: &Sought, capability: Option<&str>, limit: usize) -> Vec<Did> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let (sought, capability) = (sought.clone(), capability.map(str::to_owned));
            let page = self.directory.ask(FindAgents { sought, capability, limit, after });
            assert!(page.agents.len() <= limit);
            for (did, listed) in page.agents {
                assert_eq!(Some(&listed), self.agents.get(&did));
                all.push(did);
            }
            match page.next {
                None => return all,
                next => {
                    assert!(next > after, "pages go forward");
                    after = next;
                }
            }
        }
    }

    #[track_caller]
    fn check(&self, sought: Sought, capability: Option<&str>) {
        let expected = self.expected(&sought, capability);
        for limit in [1, 7, 100] {
            if limit > 1 || expected.len() < 50 {
                let found = self.found(&sought, capability, limit);
                assert!(
                    found == expected,
                    "{sought:?} {capability:?} by {limit}: {} for {}",
                    found.len(),
                    expected.len()
                );
            }
        }
    }

    fn check_all(&self) {
        let name = |text: &str| Sought::Name(text.into());
        for text in [
            "a",
            "ag",
            "agent",
            "agent-",
            "agent-1",
            "AGENT-11",
            "agent-111",
            "agent-1111",
            "1",
            "11",
            "ro",
            "rose",
            "x",
            "rose of",
            "bo",
            "b",
            "ber",
            "é",
            "zz",
            "z z",
            "-",
            "gent",
        ] {
            self.check(name(text), None);
            self.check(name(text), Some("Chat"));
            self.check(name(text), Some("rare"));
        }
        for capability in [None, Some("chat"), Some("rare"), Some("none"), Some("cha")] {
            self.check(Sought::Everybody, capability);
        }
        let exact = base58(&did(5));
        for text in ["", "1", "a", "A", "7h", &exact[..2], &exact[..3], &exact[..12], &exact, &exact.to_uppercase()] {
            self.check(Sought::Did(text.into()), None);
        }
        self.check(Sought::Did(exact), Some("chat"));
    }
}

const WORDS: [&str; 8] = ["rose", "Rosemary", "boat", "Berlin", "bot", "x", "École", "of"];

fn name(dice: &mut Dice, number: u64) -> Option<String> {
    let word = |dice: &mut Dice| WORDS[dice.below(8) as usize];
    match dice.below(5) {
        0 => None,
        1 | 2 => Some(format!("agent-{number}")),
        3 => Some(format!("{} of {}", word(dice), word(dice))),
        _ => Some(format!("{}/{} {}", word(dice), word(dice), number % 40)),
    }
}

fn agent(dice: &mut Dice, number: u64) -> ListedAgent {
    let capabilities: &[&str] = match dice.below(20) {
        0 => &["rare", "chat"],
        1..=12 => &["chat"],
        _ => &[],
    };
    let name = name(dice, number);
    listed(name.as_deref(), capabilities, dice.below(4) as u8, dice.below(50) as i64)
}

/// Decision agent-search-order: all matches in the right order, before and after beginnings become common, and after
/// agents change their names and ranks or leave.
#[test]
fn every_page_is_what_a_plain_list_gives() {
    let mut world = World::new();
    let mut dice = Dice(14);
    for number in 0..1_500 {
        let agent = agent(&mut dice, number);
        world.put(did(number), agent);
        if [3, 60, 400].contains(&number) {
            world.check_all();
        }
    }
    assert!(world.directory.rows.scan(&COMMON.range(), Direction::Ascending, 99).unwrap().len() > 20);
    world.check_all();
    for step in 0..1_500 {
        let number = dice.below(1_500);
        match step % 3 {
            0 => world.drop(did(number)),
            _ => {
                let agent = agent(&mut dice, number);
                world.put(did(number), agent);
            }
        }
    }
    world.check_all();
}

#[test]
fn an_agent_that_leaves_takes_every_row_along() {
    let mut world = World::new();
    let mut dice = Dice(3);
    for number in 0..600 {
        let agent = agent(&mut dice, number);
        world.put(did(number), agent);
    }
    for number in 0..600 {
        world.drop(did(number));
    }
    for range in [LISTED.range(), ALPHABETICAL.range(), RANKED.range()] {
        assert!(engine::kv::Read::scan(&world.directory.rows, &range, Direction::Ascending, 1).unwrap().is_empty());
    }
}

/// Decision agent-search-order.
#[test]
fn the_agent_of_exactly_that_name_comes_first_whatever_its_rank() {
    let mut world = World::new();
    for number in 0..300 {
        world.put(did(number), listed(Some(&format!("ada{number}")), &[], 5, number as i64));
    }
    let exact: Did = [200; 16];
    world.put(exact, listed(Some("ADA"), &[], 0, 999));
    assert!(world.directory.reserve("ADA", 200) && world.directory.confirm("ADA", 200));
    let found = world.found(&Sought::Name("ada".into()), None, 20);
    assert_eq!((found.len(), found[0], found[1]), (301, exact, did(0)));
    assert_eq!(world.found(&Sought::Name("ada".into()), None, 1), found);
}

#[test]
fn the_longest_names_with_nothing_but_common_beginnings_fit_an_operation() {
    let mut world = World::new();
    let words: Vec<String> = ('a'..='z').chain('A'..='Z').map(|c| format!("{c}")).collect();
    let long = |number: usize| {
        let mut name = words.join(" ");
        name.push_str(&format!("{number:025}"));
        name
    };
    let capabilities: Vec<String> = (0..32).map(|n| format!("capability {n}")).collect();
    let capabilities: Vec<&str> = capabilities.iter().map(String::as_str).collect();
    for number in 0..400 {
        assert_eq!(long(number).chars().count(), 128);
        world.put(did(number as u64), listed(Some(&long(number)), &capabilities, 0, 0));
    }
    for number in 0..400 {
        world.put(did(number as u64), listed(Some(&long(number + 400)), &capabilities, 9, 0));
    }
    world.check(Sought::Name("a b c d".into()), None);
    world.check(Sought::Name("z".into()), Some("capability 31"));
}
