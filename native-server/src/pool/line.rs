//! The line of work that waits for a thread. Askers take turns.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// One waiting piece of work.
#[derive(Debug)]
struct Waiting<T> {
    id: u64,
    /// It was accepted and may have begun, so it is not removed any more.
    begun: bool,
    item: T,
}

/// Waiting work by asker. The askers take turns; the work of each is in order.
#[derive(Debug)]
pub struct Line<T> {
    by_name: HashMap<Arc<str>, VecDeque<Waiting<T>>>,
    /// Names with waiting work; the first has the next turn.
    turns: VecDeque<Arc<str>>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Line { by_name: HashMap::new(), turns: VecDeque::new() }
    }
}

impl<T> Line<T> {
    /// Puts work into the line: before the other work of its name if it has begun, otherwise behind it.
    pub fn push(&mut self, name: &Arc<str>, id: u64, begun: bool, item: T) {
        let own = self.by_name.entry(name.clone()).or_default();
        if own.is_empty() {
            self.turns.push_back(name.clone());
        }
        let waiting = Waiting { id, begun, item };
        if begun { own.push_front(waiting) } else { own.push_back(waiting) }
    }

    /// Takes the next work.
    pub fn pop(&mut self) -> Option<T> {
        let name = self.turns.pop_front()?;
        let own = self.by_name.get_mut(&name)?;
        let next = own.pop_front()?;
        match own.is_empty() {
            true => drop(self.by_name.remove(&name)),
            false => self.turns.push_back(name),
        }
        Some(next.item)
    }

    /// Removes a piece of work.
    pub fn remove(&mut self, name: &Arc<str>, id: u64) -> Option<T> {
        let own = self.by_name.get_mut(name)?;
        let at = own.iter().position(|waiting| waiting.id == id)?;
        let removed = own.remove(at)?;
        self.forget_if_empty(name);
        Some(removed.item)
    }

    /// Makes room for `name`: removes the last work that has not begun of the asker with the most waiting work, unless
    /// that asker would then have less than `name` then has. So a single client may fill the line, and makes room for
    /// each other client.
    pub fn give_way(&mut self, name: &str) -> Option<T> {
        let waits = |own: &VecDeque<Waiting<T>>| own.iter().filter(|waiting| !waiting.begun).count();
        let own = self.by_name.get(name).map_or(0, waits);
        // With equal counts the name decides, so that the same line always gives the same result.
        let (most, longest) = self.by_name.iter().map(|(name, all)| (waits(all), name.clone())).max()?;
        if most <= own + 1 {
            return None;
        }
        let all = self.by_name.get_mut(&longest)?;
        let at = all.iter().rposition(|waiting| !waiting.begun)?;
        let removed = all.remove(at)?;
        self.forget_if_empty(&longest);
        Some(removed.item)
    }

    /// Removes everything.
    pub fn clear(&mut self) -> Vec<T> {
        self.turns.clear();
        self.by_name.drain().flat_map(|(_, own)| own).map(|waiting| waiting.item).collect()
    }

    fn forget_if_empty(&mut self, name: &Arc<str>) {
        if self.by_name.get(name).is_some_and(VecDeque::is_empty) {
            self.by_name.remove(name);
            self.turns.retain(|other| other != name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Arc<str> {
        text.into()
    }

    fn line(waiting: &[(&str, u64)]) -> Line<u64> {
        let mut line = Line::default();
        waiting.iter().for_each(|(who, id)| line.push(&name(who), *id, false, *id));
        line
    }

    fn rest(mut line: Line<u64>) -> Vec<u64> {
        std::iter::from_fn(|| line.pop()).collect()
    }

    #[test]
    fn turns_go_round_between_those_who_ask() {
        assert_eq!(rest(line(&[("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)])), [1, 4, 5, 2, 6, 3]);
    }

    #[test]
    fn what_has_begun_goes_on_before_what_the_same_one_asks_next() {
        let mut line = line(&[("a", 1), ("a", 2), ("b", 3)]);
        line.push(&name("a"), 4, true, 4);
        assert_eq!(rest(line), [4, 3, 1, 2]);
    }

    #[test]
    fn what_is_given_up_leaves_no_turn_behind() {
        let mut line = line(&[("a", 1), ("b", 2), ("a", 3)]);
        assert_eq!(line.remove(&name("b"), 2), Some(2));
        assert_eq!(line.remove(&name("b"), 2), None);
        assert_eq!(line.remove(&name("a"), 1), Some(1));
        line.push(&name("b"), 4, false, 4);
        assert_eq!(rest(line), [3, 4]);
    }

    #[test]
    fn whoever_has_most_in_line_gives_way_and_one_that_has_no_more_than_the_others_does_not() {
        let mut line = line(&[("a", 1), ("a", 2), ("a", 3), ("b", 4)]);
        assert_eq!(line.give_way("a"), None);
        assert_eq!(line.give_way("c"), Some(3));
        line.push(&name("c"), 5, false, 5);
        // With two, one and one waiting, no asker gets a second place by removing another's second.
        assert_eq!(line.give_way("c"), None);
        assert_eq!(line.give_way("d"), Some(2));
        line.push(&name("d"), 6, false, 6);
        assert_eq!(line.give_way("e"), None);
        assert_eq!(rest(line), [1, 4, 5, 6]);
    }

    #[test]
    fn what_has_begun_is_never_turned_out() {
        let mut line = Line::default();
        for id in 0..3 {
            line.push(&name("a"), id, true, id);
        }
        line.push(&name("a"), 3, false, 3);
        assert_eq!(line.give_way("b"), None);
        line.push(&name("a"), 4, false, 4);
        assert_eq!(line.give_way("b"), Some(4));
        assert_eq!(line.clear().len(), 4);
        assert_eq!(line.pop(), None);
    }
}
