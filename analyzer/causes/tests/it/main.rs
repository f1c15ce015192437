//! Waits of programs whose causes are known, and of random ones against a second implementation.

mod known;
mod random;
mod reference;
mod simulation;
