//! Checks the program of a scenario.

use std::ops::Range;

use collbench_formats::{CompletingCall, Layer, Operation, Semantics};
use toml::Spanned;

use super::file::{Check, MAX_DELAY_NS, line_of};
use crate::scenario::written::{RotatingWord, WrittenRoot, WrittenStep};
use crate::scenario::{
    Action, Begin, Bytes, Call, CalledAt, CompleteStep, Root, ScenarioError, Split, Step, StepKind,
};

impl Check<'_> {
    pub(super) fn read_steps(
        &mut self,
        written: Vec<Spanned<WrittenStep>>,
    ) -> Result<Vec<Step>, ScenarioError> {
        let spans: Vec<Range<usize>> = written.iter().map(Spanned::span).collect();
        let steps = written.into_iter().map(|step| self.read_step(step));
        let steps = steps.collect::<Result<Vec<_>, _>>()?;
        for (i, span) in spans.into_iter().enumerate() {
            let goes_on = |step: &Step| match &step.action {
                Action::Call(call) => {
                    call.model.is_some() && matches!(call.kind, StepKind::Begin(_))
                }
                Action::Block(_) => false,
            };
            let completes = |step: &Step| match &step.action {
                Action::Call(call) => matches!(call.kind, StepKind::Complete(_)),
                Action::Block(_) => false,
            };
            let is_alone = steps[i].repeat == 1 && steps.get(i + 1).is_some_and(completes);
            if goes_on(&steps[i]) && !is_alone {
                let expected = "the next step to complete it";
                let found = "a tree in a step that only initiates a collective";
                return self.wrong(span, found, expected);
            }
        }
        Ok(steps)
    }

    fn read_step(&mut self, step: Spanned<WrittenStep>) -> Result<Step, ScenarioError> {
        let span = step.span();
        let line = line_of(self.text, span.clone());
        let mut step = step.into_inner();
        let repeat = step.repeat.unwrap_or(1);
        if let Some(steps) = step.steps.take() {
            let is_plain = step.operation.is_none()
                && step.on.is_none()
                && step.bytes.is_none()
                && step.root.is_none()
                && step.makes.is_none()
                && step.split.is_none()
                && step.work.is_empty()
                && step.latency.is_none()
                && step.tree.is_none()
                && step.over.is_none()
                && step.called_at.is_none()
                && !step.internal;
            if !is_plain {
                let expected = "only repeat and steps; fields of calls belong in the steps";
                return self.wrong(span, "a block with fields of a call", expected);
            }
            let action = Action::Block(self.read_steps(steps)?);
            return Ok(Step {
                line,
                repeat,
                action,
            });
        }
        let call = self.read_call(span, step)?;
        Ok(Step {
            line,
            repeat,
            action: Action::Call(Box::new(call)),
        })
    }

    fn read_call(
        &mut self,
        span: Range<usize>,
        mut step: WrittenStep,
    ) -> Result<Call, ScenarioError> {
        let id = self.n_calls;
        self.n_calls += 1;
        let kind = self.read_kind(&span, &mut step)?;
        let is_marked = matches!(kind, StepKind::Complete(_) | StepKind::Phase(_));
        let operation = match &step.operation {
            None if step.work.is_empty() && !is_marked => {
                let expected = "operation, work, or steps";
                return self.wrong(span, "a step that does nothing", expected);
            }
            None => None,
            Some(name) => Some(self.operation(name)?),
        };
        let semantics = operation.map(Operation::semantics);
        let is_constructor = semantics.is_some_and(Semantics::is_constructor);
        self.check_makes(span, &step, is_constructor)?;
        if let Some(split) = &step.split {
            self.check_split(split, is_constructor)?;
        }
        let root = self.read_root(step.root, semantics)?;
        let root_group = self.read_root_group(step.root_group)?;
        let bytes = self.read_bytes(step.bytes, semantics)?;
        let work = step
            .work
            .into_iter()
            .map(|delay| self.read_work(delay))
            .collect::<Result<_, _>>()?;
        let is_alone = step.tree.is_none() && step.latency.is_none() && !step.internal;
        let over = self.read_over(step.over, operation, step.on.as_deref(), is_alone)?;
        let model = match step.tree {
            None => None,
            Some(tree) if step.latency.is_some() => {
                let expected =
                    "only one of them (with a tree, [network] has the times of messages)";
                return self.wrong(tree.span(), "both tree and latency", expected);
            }
            Some(tree) => Some(self.read_tree(tree, operation, &bytes, &kind)?),
        };
        let called_at = match step.called_at {
            None => None,
            Some(_) if matches!(kind, StepKind::Call) && operation.is_some() => step
                .called_at
                .map(|place| self.number_of_site(place.into_inner())),
            Some(place) => {
                let expected = "a step that calls a blocking operation";
                return self.wrong(place.span(), "called_at", expected);
            }
        };
        let latency = match step.latency {
            None => self.latency.clone(),
            Some(latency) => self.read_latency(latency)?,
        };
        Ok(Call {
            id,
            on: step.on.unwrap_or_else(|| "world".into()),
            operation,
            bytes,
            root,
            root_group,
            makes: step.makes.map(Spanned::into_inner),
            split: step.split.map(Spanned::into_inner).unwrap_or_default(),
            internal: step.internal,
            called_at,
            kind,
            grid: step.grid.map(Spanned::into_inner).unwrap_or_default(),
            work,
            latency,
            model,
            over,
        })
    }

    /// The number of a place in the program, which may be a new one.
    fn number_of_site(&mut self, place: CalledAt) -> u32 {
        let known = self.call_sites.iter().position(|known| *known == place);
        let number = known.unwrap_or(self.call_sites.len());
        if known.is_none() {
            self.call_sites.push(place);
        }
        number as u32
    }

    fn check_makes(
        &self,
        span: Range<usize>,
        step: &WrittenStep,
        is_constructor: bool,
    ) -> Result<(), ScenarioError> {
        match (&step.makes, is_constructor) {
            (Some(makes), false) => {
                let expected = "a communicator constructor as its operation";
                self.wrong(
                    makes.span(),
                    "makes in a step that makes no communicator",
                    expected,
                )
            }
            (None, true) => {
                let expected = "makes = \"name of the new communicator\"";
                self.wrong(span, "a constructor without makes", expected)
            }
            (Some(makes), true) if ["world", "self", ""].contains(&makes.get_ref().as_str()) => {
                let found = format!("makes = \"{}\"", makes.get_ref());
                self.wrong(makes.span(), found, "another name")
            }
            _ => Ok(()),
        }
    }

    fn read_root(
        &self,
        root: Option<Spanned<WrittenRoot>>,
        semantics: Option<Semantics>,
    ) -> Result<Root, ScenarioError> {
        let is_rooted = semantics.is_some_and(Semantics::is_rooted);
        let Some(root) = root else {
            return Ok(Root::Fixed(0));
        };
        if !is_rooted {
            let found = "root for an operation that has none";
            return self.wrong(root.span(), found, "an operation with a root");
        }
        match root.get_ref() {
            WrittenRoot::Fixed(rank) if u64::from(*rank) < self.n_ranks => Ok(Root::Fixed(*rank)),
            WrittenRoot::Fixed(rank) => {
                let expected = format!("0 to {}, or \"rotating\"", self.n_ranks - 1);
                self.wrong(root.span(), format!("root = {rank}"), expected)
            }
            WrittenRoot::Word(RotatingWord::Rotating) => Ok(Root::Rotating),
        }
    }

    fn read_root_group(&self, group: Option<Spanned<usize>>) -> Result<usize, ScenarioError> {
        match group {
            None => Ok(0),
            Some(group) if *group.get_ref() < 2 => Ok(group.into_inner()),
            Some(group) => {
                let found = format!("root_group = {}", group.get_ref());
                self.wrong(group.span(), found, "0 or 1")
            }
        }
    }

    /// What a step does after its work.
    fn read_kind(
        &self,
        span: &Range<usize>,
        step: &mut WrittenStep,
    ) -> Result<StepKind, ScenarioError> {
        let kinds = [
            step.operation.is_some(),
            step.complete.is_some(),
            step.phase.is_some(),
        ];
        if kinds.iter().filter(|&&kind| kind).count() > 1 {
            let found = "a step that does several things";
            let expected = "only one of operation, complete and phase";
            return self.wrong(span.clone(), found, expected);
        }
        let is_completing = step.complete.is_some();
        let beside = [
            step.thread.is_some(),
            step.complete_ns.is_some(),
            step.tests.is_some(),
            step.test_ns.is_some(),
        ];
        if !is_completing && beside.contains(&true) {
            let found = "thread, complete_ns, tests or test_ns";
            return self.wrong(
                span.clone(),
                found,
                "these fields only together with complete",
            );
        }
        let lengths = 0..=MAX_DELAY_NS;
        if let Some(name) = step.complete.take() {
            let known = CompletingCall::ALL.iter().copied();
            let mut known =
                known.filter(|call| *call != CompletingCall::RequestFree && !call.ends_access());
            let Some(by) = known.clone().find(|call| call.name() == name.get_ref()) else {
                let found = format!("complete = \"{}\"", name.get_ref());
                let names: Vec<&str> = known.by_ref().map(CompletingCall::name).collect();
                return self.wrong(name.span(), found, format!("one of {}", names.join(", ")));
            };
            return Ok(StepKind::Complete(CompleteStep {
                by,
                thread: self.number("thread", step.thread.take(), 0, 0..=1023)? as u32,
                complete_ns: self.number(
                    "complete_ns",
                    step.complete_ns.take(),
                    300,
                    lengths.clone(),
                )?,
                n_tests: self.number("tests", step.tests.take(), 0, 0..=1_000_000)? as u32,
                test_ns: self.number("test_ns", step.test_ns.take(), 200, 0..=1_000_000)?,
            }));
        }
        if let Some(level) = step.phase {
            return Ok(StepKind::Phase(level));
        }
        let operation = match &step.operation {
            Some(name) => Some(self.operation(name)?),
            None => None,
        };
        let begins = |op: &Operation| {
            op.blocking() != *op && op.semantics() != Semantics::NonblockingConstructor
        };
        let Some(operation) = operation.filter(begins) else {
            if let Some(begin_ns) = &step.begin_ns {
                let expected = "a nonblocking or persistent operation";
                let found = "begin_ns for an operation without an initiating call";
                return self.wrong(begin_ns.span(), found, expected);
            }
            return Ok(StepKind::Call);
        };
        let is_rotating = matches!(
            step.root.as_ref().map(Spanned::get_ref),
            Some(WrittenRoot::Word(_))
        );
        if step.internal || (operation.is_persistent() && is_rotating) {
            let (name, found, expected) = if step.internal {
                (operation.name(), "internal = true", "a blocking operation")
            } else {
                (
                    operation.name(),
                    "root = \"rotating\"",
                    "a fixed root for a persistent operation",
                )
            };
            return self.wrong(span.clone(), format!("{found} for {name}"), expected);
        }
        Ok(StepKind::Begin(Begin {
            begin_ns: self.number("begin_ns", step.begin_ns.take(), 500, lengths)?,
        }))
    }

    fn operation(&self, name: &Spanned<String>) -> Result<Operation, ScenarioError> {
        let known = Operation::ALL
            .iter()
            .copied()
            .filter(|op| op.semantics() != Semantics::Process && op.layer() == Layer::Calls);
        match known.clone().find(|op| op.name() == name.get_ref()) {
            Some(op) => Ok(op),
            None => {
                let found = format!("operation = \"{}\"", name.get_ref());
                let names: Vec<&str> = known.map(Operation::name).collect();
                self.wrong(name.span(), found, format!("one of {}", names.join(", ")))
            }
        }
    }

    fn check_split(
        &self,
        split: &Spanned<Split>,
        is_constructor: bool,
    ) -> Result<(), ScenarioError> {
        let span = split.span();
        if !is_constructor {
            let found = "split in a step that makes no communicator";
            return self.wrong(span, found, "a communicator constructor as its operation");
        }
        let split = split.get_ref();
        let ways = usize::from(split.parts.is_some())
            + usize::from(split.every.is_some())
            + usize::from(split.hosts)
            + usize::from(split.colours.is_some());
        if ways > 1 || split.parts == Some(0) || split.every == Some(0) {
            let expected = "one of parts = N, every = N, hosts = true, colours = [..], N above 0";
            return self.wrong(span, "several ways to split, or N = 0", expected);
        }
        Ok(())
    }

    fn read_bytes(
        &self,
        bytes: Option<Spanned<Bytes>>,
        semantics: Option<Semantics>,
    ) -> Result<Bytes, ScenarioError> {
        let Some(bytes) = bytes else {
            return Ok(Bytes::Same(0));
        };
        let carries = matches!(
            semantics,
            Some(
                Semantics::AllToAll
                    | Semantics::OneToMany
                    | Semantics::ManyToOne
                    | Semantics::Prefix
                    | Semantics::Neighborhood
            )
        );
        if !carries {
            let found = "bytes for an operation that carries no data";
            return self.wrong(bytes.span(), found, "an operation that carries data");
        }
        let largest = match bytes.get_ref() {
            Bytes::Same(bytes) => *bytes,
            Bytes::PerRank(list) if list.len() as u64 != self.n_ranks => {
                let found = format!("a list of {} numbers", list.len());
                let expected = format!("one number for each of the {} ranks", self.n_ranks);
                return self.wrong(bytes.span(), found, expected);
            }
            Bytes::PerRank(list) => list.iter().copied().max().unwrap_or(0),
        };
        // The root of a scatter sends the sum over all ranks.
        if largest >= 1 << 27 {
            return self.wrong(
                bytes.span(),
                format!("{largest} bytes"),
                "less than 2^27 bytes",
            );
        }
        Ok(bytes.into_inner())
    }
}

/// Whether a thread other than the first completes anything.
pub(super) fn completes_elsewhere(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Block(steps) => completes_elsewhere(steps),
        Action::Call(call) => matches!(&call.kind, StepKind::Complete(step) if step.thread > 0),
    })
}

/// Whether any work is time in calls without records.
pub(super) fn has_gaps(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Block(steps) => has_gaps(steps),
        Action::Call(call) => call.work.iter().any(|delay| delay.spent_in.is_some()),
    })
}

/// Whether any collective has simulated messages.
pub(super) fn has_messages(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Block(steps) => has_messages(steps),
        Action::Call(call) => call.model.is_some(),
    })
}
