//! A value that an operator changes while requests use it (decision hangup-reloads).

use std::sync::atomic::{AtomicUsize, Ordering};

/// The value that is in force, which anybody reads without a lock. Earlier ones stay where they are, because requests
/// that began with them may still use them. An operator changes settings some hundred times in the life of a process,
/// and a value has some kilobytes.
pub struct Current<T> {
    first: T,
    later: boxcar::Vec<T>,
    /// How many of `later` there are; the last one is in force.
    number: AtomicUsize,
}

impl<T> Current<T> {
    pub fn new(first: T) -> Current<T> {
        Current { first, later: boxcar::Vec::new(), number: AtomicUsize::new(0) }
    }

    pub fn get(&self) -> &T {
        let last = self.number.load(Ordering::Acquire).checked_sub(1);
        last.and_then(|last| self.later.get(last)).unwrap_or(&self.first)
    }

    /// Puts another value in force. Calls at the same time count in any order.
    pub fn replace(&self, value: T) {
        let at = self.later.push(value);
        self.number.fetch_max(at + 1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_keeps_what_it_had_and_the_next_one_gets_the_last() {
        let current = Current::new(String::from("first"));
        let before = current.get();
        (0..100).for_each(|number| current.replace(number.to_string()));
        assert_eq!((before.as_str(), current.get().as_str()), ("first", "99"));
    }
}
