//! What a transaction has said by NOTIFY, LISTEN and UNLISTEN: nobody hears of it before it commits.
//!
//! Not here: who is told then (`notifications`).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::StatementTransaction;
use crate::notifications::{Action, BYTES_MAX, Notification};
use crate::{Error, ErrorKind};

/// The name of a channel has fewer bytes, as that of every object.
const CHANNEL_BYTES: usize = 64;
/// So has a payload.
const PAYLOAD_BYTES: usize = 8000;

/// What a transaction has said, in order. What it has said in the same words before, others are told once.
#[derive(Default)]
pub(super) struct Said {
    list: Mutex<List>,
    /// Whether there may be anything: of most transactions this is all that is looked at.
    is_used: AtomicBool,
}

#[derive(Default)]
struct List {
    actions: Vec<Action>,
    /// Those among them that tell something.
    told: HashSet<Notification>,
    bytes: usize,
}

impl Said {
    fn with<R>(&self, act: impl FnOnce(&mut List) -> R) -> R {
        act(&mut self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// The same, which is nothing here any more.
    pub(super) fn take(&self) -> Self {
        let is_used = self.is_used();
        Self {
            list: Mutex::new(if is_used { self.with(std::mem::take) } else { List::default() }),
            is_used: is_used.into(),
        }
    }

    /// How much there is.
    pub(super) fn count(&self) -> usize {
        if self.is_used() { self.with(|list| list.actions.len()) } else { 0 }
    }

    /// Takes all but the first ones back.
    pub(super) fn undo(&self, first: usize) {
        if !self.is_used() {
            return;
        }
        self.with(|list| {
            for undone in list.actions.drain(first.min(list.actions.len())..) {
                if let Action::Notify(notification) = undone {
                    list.bytes -= notification.bytes();
                    list.told.remove(&notification);
                }
            }
        });
    }

    fn add(&self, action: Action) -> Result<(), Error> {
        self.is_used.store(true, Ordering::Relaxed);
        self.with(|list| {
            if let Action::Notify(notification) = &action {
                if list.bytes + notification.bytes() > BYTES_MAX {
                    let message = format!(
                        "too many notifications in one transaction: they take more than {} MiB; commit in between",
                        BYTES_MAX >> 20
                    );
                    return Err(Error::new(ErrorKind::TooLarge, message));
                }
                if !list.told.insert(notification.clone()) {
                    return Ok(());
                }
                list.bytes += notification.bytes();
            }
            list.actions.push(action);
            Ok(())
        })
    }
}

impl StatementTransaction {
    /// Does something about channels, if and when it commits.
    ///
    /// # Errors
    /// 54000 when it says too much.
    pub(crate) fn say(&self, action: Action) -> Result<(), Error> {
        self.said.add(action)?;
        // As a view may whose rows are made while they are read.
        if self.has_ended() { self.commit_said(|| Ok(())) } else { Ok(()) }
    }

    /// Tells those who listen to a channel something, if and when it commits.
    ///
    /// # Errors
    /// 22023 for names and payloads that PostgreSQL does not take; 54000 when it says too much.
    pub(crate) fn notify(&self, channel: &str, payload: &str) -> Result<(), Error> {
        let refused = |problem: &str| Err(Error::new(ErrorKind::Invalid, problem));
        if channel.is_empty() {
            return refused("channel name cannot be empty");
        }
        if channel.len() >= CHANNEL_BYTES {
            return refused("channel name too long");
        }
        if payload.len() >= PAYLOAD_BYTES {
            return refused("payload string too long");
        }
        let pid = self.numbers.entered().map_or(0, |(activity, _)| activity.pid());
        self.say(Action::Notify(Notification { channel: channel.into(), payload: payload.into(), pid }))
    }

    /// Tells others what was said, once `commit` has committed it.
    pub(super) fn commit_said<T>(&self, commit: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let actions = if self.said.is_used() {
            self.said.take().with(|list| std::mem::take(&mut list.actions))
        } else {
            Vec::new()
        };
        match self.numbers.entered() {
            Some((activity, all)) if !actions.is_empty() => all.channels().commit(activity.inbox(), actions, commit),
            _ => commit(),
        }
    }
}
