//! Data about the messages that the MPI library sends, for the code that records them.

mod contexts;
mod endpoints;
mod opaque;
mod open_mpi_tags;
#[allow(unsafe_code)]
mod partners;
#[allow(unsafe_code)]
mod posted;
mod raw_message;
#[allow(unsafe_code)]
mod route;
mod source;
#[allow(unsafe_code)]
mod tables;
mod ucx_tag;

pub(crate) use contexts::{Context, Contexts};
pub(crate) use endpoints::{
    AddressBegin, Endpoints, MadeEndpoint, note_endpoint, note_own_address, watch_endpoints,
    watches_endpoints,
};
pub(crate) use opaque::Opaque;
pub(crate) use open_mpi_tags::{FIRST_COLLECTIVE_TAG, recorded_tag};
pub(crate) use partners::{LOCAL_GROUP, Partners};
pub(crate) use posted::{Posted, Receives};
pub(crate) use raw_message::{Post, RawMessage};
pub(crate) use route::{Route, RouteKey};
pub(crate) use source::MessageSource;
pub(crate) use tables::{PointToPoint, Replaced, Table};
pub(crate) use ucx_tag::{Part, Tag};
