//! oneflight
