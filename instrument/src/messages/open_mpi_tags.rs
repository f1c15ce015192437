//! The tags of Open MPI's collectives.

/// The library's tags for collectives are this or less; above are those of applications (from 0),
/// and MPI_ANY_TAG (-1).
pub(crate) const FIRST_COLLECTIVE_TAG: i32 = -10;

/// The lowest tag of a nonblocking collective; below are the tags of neighborhood collectives.
///
/// # Source
/// `coll_tags.h` of Open MPI 4.0 to 5.0: `MCA_COLL_BASE_TAG_NONBLOCKING_END`.
const LAST_NONBLOCKING_TAG: i32 = -(i32::MAX / 2) + 1;

/// Recorded tags of nonblocking collectives start again here; above are as many tags as any version
/// uses for blocking operations.
const FIRST_WRAPPED_TAG: i32 = -64;

/// The lower half of a tag, as records have it. On each communicator nonblocking collectives have
/// successive tags; those too low to fit start again below the tags of blocking operations.
#[inline]
pub(crate) fn recorded_tag(tag: i32) -> u16 {
    if tag < i16::MIN.into() {
        wrapped_tag(tag) as u16
    } else {
        tag as u16
    }
}

#[cold]
fn wrapped_tag(tag: i32) -> i32 {
    let n_wrapped = FIRST_WRAPPED_TAG - i32::from(i16::MIN);
    if tag < LAST_NONBLOCKING_TAG {
        tag
    } else {
        FIRST_WRAPPED_TAG - (FIRST_WRAPPED_TAG - tag) % n_wrapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_too_low_to_be_recorded_are_not_recorded_as_those_of_blocking_operations() {
        for tag in [-10, -26, -34, -32_768, LAST_NONBLOCKING_TAG - 1] {
            assert_eq!(recorded_tag(tag), tag as u16);
        }
        let again = |n: i32| recorded_tag(i32::from(i16::MIN) - n) as i16;
        assert_eq!([again(1), again(2), again(3)], [-65, -66, -67]);
        for tag in (-200_000..-32_768).chain([LAST_NONBLOCKING_TAG]) {
            assert!((recorded_tag(tag) as i16) <= -64, "{tag}");
        }
    }
}
