//! macOS: libproc and sysctl, which have no safe form. It type-checks and has not been run on a Mac
//! yet.
#![expect(unsafe_code, reason = "the calls below have no safe form")]

use std::mem::MaybeUninit;

pub(super) fn start_of(pid: i32) -> Option<u64> {
    let mut info = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
    let size = size_of::<libc::proc_bsdinfo>() as libc::c_int;
    // SAFETY: the buffer has as many bytes as is said, and the number stands for this structure.
    let filled = unsafe {
        libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, info.as_mut_ptr().cast(), size)
    };
    if filled != size {
        return None;
    }
    // SAFETY: it has numbers only, so that any bytes are a value, and it was filled.
    let info = unsafe { info.assume_init() };
    Some(info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec)
}

pub(super) fn boot_id() -> Option<String> {
    // A UUID and a zero byte.
    let mut id = [0_u8; 64];
    let mut length = id.len();
    // SAFETY: the name ends with a zero byte, and at most `length` bytes are written to the buffer.
    let result = unsafe {
        libc::sysctlbyname(
            c"kern.bootsessionuuid".as_ptr(),
            id.as_mut_ptr().cast(),
            &raw mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    let id = id.get(..length).filter(|_| result == 0)?;
    Some(std::str::from_utf8(id).ok()?.trim_end_matches('\0').to_owned())
}
