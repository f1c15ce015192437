//! The rule of a frame, from the unwind tables of the object that an address is in.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, Expression, LittleEndian, Operation,
    Pointer, Reader, Register, RegisterRule, UnwindContext, UnwindContextStorage, UnwindSection,
    UnwindTableRow,
};

use super::frame_rule::{Base, FrameRule};
use super::loaded_object::LoadedFile;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The numbers that DWARF has for the registers.
#[cfg(target_arch = "aarch64")]
mod numbers {
    use gimli::Register;

    pub(super) const FRAME: Register = Register(29);
    pub(super) const RETURN_ADDRESS: Register = Register(30);
    pub(super) const STACK: Register = Register(31);
}

/// The numbers that DWARF has for the registers.
#[cfg(not(target_arch = "aarch64"))]
mod numbers {
    use gimli::Register;

    pub(super) const FRAME: Register = Register(6);
    pub(super) const STACK: Register = Register(7);
    pub(super) const RETURN_ADDRESS: Register = Register(16);
}

use numbers::{FRAME, RETURN_ADDRESS, STACK};

/// Room for what a table says of one address, on the stack: compilers use up to 17 registers and
/// remember one state.
struct OnStack;

impl UnwindContextStorage<usize> for OnStack {
    type Rules = [(Register, RegisterRule<usize>); 24];
    type Stack = [UnwindTableRow<usize, Self>; 3];
}

/// How to get from the function with an instruction at this address to its caller;
/// [`FrameRule::NONE`] where that is not known.
///
/// Allocates nothing, takes no lock, and reads nothing but the mapped segments of the object.
pub(super) fn rule_at(object: &LoadedFile, address: usize) -> FrameRule {
    find(object, address).unwrap_or(FrameRule::NONE)
}

fn find(object: &LoadedFile, address: usize) -> Option<FrameRule> {
    let header_at = object.unwind_header()?;
    let header = EhFrameHdr::new(object.bytes_from(header_at)?, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_at as u64);
    let header = header.parse(&bases, size_of::<usize>() as u8).ok()?;
    let Pointer::Direct(frames_at) = header.eh_frame_ptr() else {
        return None;
    };
    let bases = bases.set_eh_frame(frames_at);
    let frames = EhFrame::new(object.bytes_from(frames_at as usize)?, LittleEndian);
    let mut context = UnwindContext::<usize, OnStack>::new_in();
    let row = header
        .table()?
        .unwind_info_for_address(
            &frames,
            &bases,
            &mut context,
            address as u64,
            EhFrame::cie_from_offset,
        )
        .ok()?;
    rule_of(row, &frames)
}

fn rule_of(row: &UnwindTableRow<usize, OnStack>, frames: &EhFrame<Bytes<'_>>) -> Option<FrameRule> {
    let (base, offset) = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => match *register {
            STACK => (Base::Stack, *offset),
            FRAME => (Base::Frame, *offset),
            _ => return None,
        },
        CfaRule::Expression(expression) => {
            let expression = expression.get(frames).ok()?;
            (Base::WordAtFrame, word_at_frame(expression)?)
        }
    };
    let Some(RegisterRule::Offset(return_at)) = row.register(RETURN_ADDRESS) else {
        return None;
    };
    let frame_at = match row.register(FRAME) {
        Some(RegisterRule::Offset(offset)) => Some(offset),
        None | Some(RegisterRule::SameValue | RegisterRule::Undefined)
            if base != Base::WordAtFrame =>
        {
            None
        }
        // A function that aligns its stack: it is stored where the register itself points to.
        Some(RegisterRule::Expression(expression)) if base == Base::WordAtFrame => {
            let expression = expression.get(frames).ok()?;
            (offset_from_frame(expression)? == 0).then_some(None)?
        }
        _ => return None,
    };
    FrameRule::new(base, offset, return_at, frame_at)
}

/// Of the expression for the word at an offset from the frame register: the offset.
fn word_at_frame<R: Reader>(mut expression: Expression<R>) -> Option<i64> {
    let encoding = encoding();
    let offset = register_offset(&mut expression, encoding)?;
    let next = Operation::parse(&mut expression.0, encoding).ok()?;
    let is_word = matches!(next, Operation::Deref { size, space: false, .. } if usize::from(size) == size_of::<usize>());
    (is_word && expression.0.is_empty()).then_some(offset)
}

/// Of the expression for an address at an offset from the frame register: the offset.
fn offset_from_frame<R: Reader>(mut expression: Expression<R>) -> Option<i64> {
    let offset = register_offset(&mut expression, encoding())?;
    expression.0.is_empty().then_some(offset)
}

fn register_offset<R: Reader>(
    expression: &mut Expression<R>,
    encoding: gimli::Encoding,
) -> Option<i64> {
    match Operation::parse(&mut expression.0, encoding).ok()? {
        Operation::RegisterOffset {
            register, offset, ..
        } if register == FRAME => Some(offset),
        _ => None,
    }
}

fn encoding() -> gimli::Encoding {
    gimli::Encoding {
        address_size: size_of::<usize>() as u8,
        format: gimli::Format::Dwarf32,
        version: 5,
    }
}
