//! What is used of the C interface of OTF2, version 3, as its headers declare it.

use std::ffi::{c_char, c_int, c_void};

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub(crate) struct $name {
            _opaque: [u8; 0],
        }
    )*};
}

opaque! {
    /// `OTF2_Archive`
    Archive;
    /// `OTF2_EvtWriter`
    EvtWriter;
    /// `OTF2_DefWriter`
    DefWriter;
    /// `OTF2_GlobalDefWriter`
    GlobalDefWriter;
    /// `OTF2_MarkerWriter`
    MarkerWriter;
    /// `OTF2_AttributeList`
    AttributeList;
}

/// `OTF2_ErrorCode`, an enumeration with negative values; 0 is success, errors are positive.
pub(crate) type Code = c_int;

/// `OTF2_FileMode`
pub(crate) const FILEMODE_WRITE: u8 = 0;
/// `OTF2_FileMode`
pub(crate) const FILEMODE_READ: u8 = 1;
/// `OTF2_FileSubstrate`
pub(crate) const SUBSTRATE_POSIX: u8 = 1;
/// `OTF2_FileSubstrate`
pub(crate) const SUBSTRATE_NONE: u8 = 3;
/// `OTF2_Compression`
pub(crate) const COMPRESSION_NONE: u8 = 1;
/// `OTF2_FlushType`
pub(crate) const FLUSH: u8 = 1;
/// `OTF2_CHUNK_SIZE_MIN`
pub(crate) const CHUNK_SIZE_MIN: u64 = 256 << 10;
/// `OTF2_CHUNK_SIZE_MAX`
pub(crate) const CHUNK_SIZE_MAX: u64 = 16 << 20;
/// `OTF2_PARADIGM_CLASS_PROCESS`
pub(crate) const PARADIGM_CLASS_PROCESS: u8 = 0;
/// `OTF2_SystemTreeDomain`
pub(crate) const DOMAIN_MACHINE: u8 = 0;
/// `OTF2_SystemTreeDomain`
pub(crate) const DOMAIN_SHARED_MEMORY: u8 = 1;
/// `OTF2_LocationGroupType`
pub(crate) const LOCATION_GROUP_PROCESS: u8 = 1;
/// `OTF2_LocationType`
pub(crate) const LOCATION_CPU_THREAD: u8 = 1;
/// `OTF2_GroupType`
pub(crate) const GROUP_COMM_LOCATIONS: u8 = 4;
/// `OTF2_GroupType`
pub(crate) const GROUP_COMM_GROUP: u8 = 5;
/// `OTF2_GroupType`
pub(crate) const GROUP_COMM_SELF: u8 = 6;
/// `OTF2_METRIC_TYPE_OTHER`
pub(crate) const METRIC_OTHER: u8 = 0;
/// `OTF2_BASE_DECIMAL`
pub(crate) const BASE_DECIMAL: u8 = 1;
/// `OTF2_METRIC_ASYNCHRONOUS`
pub(crate) const METRIC_ASYNCHRONOUS: u8 = 2;
/// `OTF2_RECORDER_KIND_CPU`
pub(crate) const RECORDER_CPU: u8 = 2;
/// `OTF2_UNDEFINED_TIMESTAMP`
pub(crate) const UNDEFINED_TIMESTAMP: u64 = u64::MAX;
/// `OTF2_CollectiveRoot`
pub(crate) const ROOT_NONE: u32 = u32::MAX;
/// `OTF2_CollectiveRoot`
pub(crate) const ROOT_SELF: u32 = u32::MAX - 1;
/// `OTF2_CollectiveRoot`
pub(crate) const ROOT_THIS_GROUP: u32 = u32::MAX - 2;
/// `OTF2_MarkerScope`
pub(crate) const SCOPE_GLOBAL: u8 = 0;
/// `OTF2_MarkerScope`
pub(crate) const SCOPE_LOCATION: u8 = 1;
/// `OTF2_MarkerScope`
pub(crate) const SCOPE_LOCATION_GROUP: u8 = 2;
/// `OTF2_MarkerScope`
pub(crate) const SCOPE_SYSTEM_TREE_NODE: u8 = 3;
/// `OTF2_MarkerScope`
pub(crate) const SCOPE_COMM: u8 = 5;

/// `OTF2_MetricValue`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union MetricValue {
    pub signed_int: i64,
    pub unsigned_int: u64,
    pub floating_point: f64,
}

const _: () = assert!(size_of::<MetricValue>() == 8);

/// `OTF2_FlushCallbacks`
#[repr(C)]
pub(crate) struct FlushCallbacks {
    pub pre_flush: Option<unsafe extern "C" fn(*mut c_void, u8, u64, *mut c_void, bool) -> u8>,
    pub post_flush: Option<unsafe extern "C" fn(*mut c_void, u8, u64) -> u64>,
}

/// `OTF2_MemoryCallbacks`
#[repr(C)]
pub(crate) struct MemoryCallbacks {
    pub allocate: unsafe extern "C" fn(*mut c_void, u8, u64, *mut *mut c_void, u64) -> *mut c_void,
    pub free_all: unsafe extern "C" fn(*mut c_void, u8, u64, *mut *mut c_void, bool),
}

/// `OTF2_ErrorCallback`. The last argument is a `va_list`: on Linux it is a pointer, or an
/// array or structure that is passed as one.
pub(crate) type ErrorCallback = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    u64,
    *const c_char,
    Code,
    *const c_char,
    *mut c_void,
) -> Code;

/// A structure of functions of the library, with one function that looks them up.
macro_rules! functions {
    ($(#[$doc:meta])* $name:ident { $($field:ident = $symbol:literal ($($argument:ty),* $(,)?) $(-> $result:ty)?;)* }) => {
        $(#[$doc])*
        pub(crate) struct $name {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $name {
            /// Looks up all functions.
            ///
            /// # Safety
            /// `library` must have these functions with the types that are declared here, or not
            /// have them at all. The result must not be used after `library` is closed.
            pub(crate) unsafe fn load(library: &libloading::Library) -> Result<Self, libloading::Error> {
                // SAFETY: the caller guarantees the types and that `library` remains open.
                unsafe { Ok(Self { $($field: *library.get(concat!($symbol, "\0").as_bytes())?,)* }) }
            }
        }
    };
}

functions! {
    /// Functions that earlier versions of OTF2 have in the same form.
    AnyVersion {
        archive_open = "OTF2_Archive_Open"(*const c_char, *const c_char, u8, u64, u64, u8, u8) -> *mut Archive;
        set_serial_collective_callbacks = "OTF2_Archive_SetSerialCollectiveCallbacks"(*mut Archive) -> Code;
        get_version = "OTF2_Archive_GetVersion"(*mut Archive, *mut u8, *mut u8, *mut u8) -> Code;
        archive_close = "OTF2_Archive_Close"(*mut Archive) -> Code;
        get_description = "OTF2_Error_GetDescription"(Code) -> *const c_char;
        register_callback = "OTF2_Error_RegisterCallback"(Option<ErrorCallback>, *mut c_void) -> Option<ErrorCallback>;
    }
}

functions! {
    /// Functions of version 3.
    Functions {
        get_trace_id = "OTF2_Archive_GetTraceId"(*mut Archive, *mut u64) -> Code;
        set_flush_callbacks = "OTF2_Archive_SetFlushCallbacks"(*mut Archive, *const FlushCallbacks, *mut c_void) -> Code;
        set_memory_callbacks = "OTF2_Archive_SetMemoryCallbacks"(*mut Archive, *const MemoryCallbacks, *mut c_void) -> Code;
        set_machine_name = "OTF2_Archive_SetMachineName"(*mut Archive, *const c_char) -> Code;
        set_creator = "OTF2_Archive_SetCreator"(*mut Archive, *const c_char) -> Code;
        set_description = "OTF2_Archive_SetDescription"(*mut Archive, *const c_char) -> Code;
        open_evt_files = "OTF2_Archive_OpenEvtFiles"(*mut Archive) -> Code;
        close_evt_files = "OTF2_Archive_CloseEvtFiles"(*mut Archive) -> Code;
        open_def_files = "OTF2_Archive_OpenDefFiles"(*mut Archive) -> Code;
        close_def_files = "OTF2_Archive_CloseDefFiles"(*mut Archive) -> Code;
        get_evt_writer = "OTF2_Archive_GetEvtWriter"(*mut Archive, u64) -> *mut EvtWriter;
        close_evt_writer = "OTF2_Archive_CloseEvtWriter"(*mut Archive, *mut EvtWriter) -> Code;
        get_def_writer = "OTF2_Archive_GetDefWriter"(*mut Archive, u64) -> *mut DefWriter;
        close_def_writer = "OTF2_Archive_CloseDefWriter"(*mut Archive, *mut DefWriter) -> Code;
        get_global_def_writer = "OTF2_Archive_GetGlobalDefWriter"(*mut Archive) -> *mut GlobalDefWriter;
        close_global_def_writer = "OTF2_Archive_CloseGlobalDefWriter"(*mut Archive, *mut GlobalDefWriter) -> Code;
        get_marker_writer = "OTF2_Archive_GetMarkerWriter"(*mut Archive) -> *mut MarkerWriter;
        close_marker_writer = "OTF2_Archive_CloseMarkerWriter"(*mut Archive, *mut MarkerWriter) -> Code;

        write_clock_properties = "OTF2_GlobalDefWriter_WriteClockProperties"(*mut GlobalDefWriter, u64, u64, u64, u64) -> Code;
        write_paradigm = "OTF2_GlobalDefWriter_WriteParadigm"(*mut GlobalDefWriter, u8, u32, u8) -> Code;
        write_string = "OTF2_GlobalDefWriter_WriteString"(*mut GlobalDefWriter, u32, *const c_char) -> Code;
        write_attribute = "OTF2_GlobalDefWriter_WriteAttribute"(*mut GlobalDefWriter, u32, u32, u32, u8) -> Code;
        write_system_tree_node = "OTF2_GlobalDefWriter_WriteSystemTreeNode"(*mut GlobalDefWriter, u32, u32, u32, u32) -> Code;
        write_system_tree_node_domain = "OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain"(*mut GlobalDefWriter, u32, u8) -> Code;
        write_location_group = "OTF2_GlobalDefWriter_WriteLocationGroup"(*mut GlobalDefWriter, u32, u32, u8, u32, u32) -> Code;
        write_location = "OTF2_GlobalDefWriter_WriteLocation"(*mut GlobalDefWriter, u64, u32, u8, u64, u32) -> Code;
        write_region = "OTF2_GlobalDefWriter_WriteRegion"(*mut GlobalDefWriter, u32, u32, u32, u32, u8, u8, u32, u32, u32, u32) -> Code;
        write_source_code_location = "OTF2_GlobalDefWriter_WriteSourceCodeLocation"(*mut GlobalDefWriter, u32, u32, u32) -> Code;
        write_group = "OTF2_GlobalDefWriter_WriteGroup"(*mut GlobalDefWriter, u32, u32, u8, u8, u32, u32, *const u64) -> Code;
        write_comm = "OTF2_GlobalDefWriter_WriteComm"(*mut GlobalDefWriter, u32, u32, u32, u32, u32) -> Code;
        write_inter_comm = "OTF2_GlobalDefWriter_WriteInterComm"(*mut GlobalDefWriter, u32, u32, u32, u32, u32, u32) -> Code;
        write_metric_member = "OTF2_GlobalDefWriter_WriteMetricMember"(*mut GlobalDefWriter, u32, u32, u32, u8, u8, u8, u8, i64, u32) -> Code;
        write_metric_class = "OTF2_GlobalDefWriter_WriteMetricClass"(*mut GlobalDefWriter, u32, u8, *const u32, u8, u8) -> Code;
        write_rma_win = "OTF2_GlobalDefWriter_WriteRmaWin"(*mut GlobalDefWriter, u32, u32, u32, u32) -> Code;

        write_def_marker = "OTF2_MarkerWriter_WriteDefMarker"(*mut MarkerWriter, u32, *const c_char, *const c_char, u8) -> Code;
        write_marker = "OTF2_MarkerWriter_WriteMarker"(*mut MarkerWriter, u64, u64, u32, u8, u64, *const c_char) -> Code;

        attribute_list_new = "OTF2_AttributeList_New"() -> *mut AttributeList;
        attribute_list_delete = "OTF2_AttributeList_Delete"(*mut AttributeList) -> Code;
        add_uint64 = "OTF2_AttributeList_AddUint64"(*mut AttributeList, u32, u64) -> Code;
        add_int64 = "OTF2_AttributeList_AddInt64"(*mut AttributeList, u32, i64) -> Code;
        add_double = "OTF2_AttributeList_AddDouble"(*mut AttributeList, u32, f64) -> Code;
        add_string_ref = "OTF2_AttributeList_AddStringRef"(*mut AttributeList, u32, u32) -> Code;
        add_source_code_location_ref = "OTF2_AttributeList_AddSourceCodeLocationRef"(*mut AttributeList, u32, u32) -> Code;

        enter = "OTF2_EvtWriter_Enter"(*mut EvtWriter, *mut AttributeList, u64, u32) -> Code;
        leave = "OTF2_EvtWriter_Leave"(*mut EvtWriter, *mut AttributeList, u64, u32) -> Code;
        mpi_collective_begin = "OTF2_EvtWriter_MpiCollectiveBegin"(*mut EvtWriter, *mut AttributeList, u64) -> Code;
        mpi_collective_end = "OTF2_EvtWriter_MpiCollectiveEnd"(*mut EvtWriter, *mut AttributeList, u64, u8, u32, u32, u64, u64) -> Code;
        non_blocking_collective_request = "OTF2_EvtWriter_NonBlockingCollectiveRequest"(*mut EvtWriter, *mut AttributeList, u64, u64) -> Code;
        non_blocking_collective_complete = "OTF2_EvtWriter_NonBlockingCollectiveComplete"(*mut EvtWriter, *mut AttributeList, u64, u8, u32, u32, u64, u64, u64) -> Code;
        metric = "OTF2_EvtWriter_Metric"(*mut EvtWriter, *mut AttributeList, u64, u32, u8, *const u8, *const MetricValue) -> Code;
        rma_put = "OTF2_EvtWriter_RmaPut"(*mut EvtWriter, *mut AttributeList, u64, u32, u32, u64, u64) -> Code;
        rma_get = "OTF2_EvtWriter_RmaGet"(*mut EvtWriter, *mut AttributeList, u64, u32, u32, u64, u64) -> Code;
        rma_op_complete_blocking = "OTF2_EvtWriter_RmaOpCompleteBlocking"(*mut EvtWriter, *mut AttributeList, u64, u32, u64) -> Code;
        rma_op_complete_non_blocking = "OTF2_EvtWriter_RmaOpCompleteNonBlocking"(*mut EvtWriter, *mut AttributeList, u64, u32, u64) -> Code;
    }
}
