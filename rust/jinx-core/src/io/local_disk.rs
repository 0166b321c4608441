//! Whether a file lies on a disk of this machine.

use std::fs::File;

/// True if the file system is known to be remote or in user space, where a memory map may stall, fail late or go stale.
#[cfg(target_os = "linux")]
pub fn is_remote(file: &File) -> bool {
    // The width of the type differs between platforms; on all of them, the low 32 bits are the magic number.
    rustix::fs::fstatfs(file)
        .ok()
        .and_then(|stat| stat.f_type.to_le_bytes().first_chunk::<4>().copied())
        .is_some_and(|low| is_remote_magic(u32::from_le_bytes(low)))
}

/// True if the file system does not have the `MNT_LOCAL` flag.
#[cfg(target_os = "macos")]
pub fn is_remote(file: &File) -> bool {
    const MNT_LOCAL: u32 = 0x1000;
    rustix::fs::fstatfs(file).is_ok_and(|stat| stat.f_flags & MNT_LOCAL == 0)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn is_remote(_file: &File) -> bool {
    false
}

/// Magic numbers from statfs(2), and from the headers of the file systems.
#[cfg(target_os = "linux")]
fn is_remote_magic(magic: u32) -> bool {
    matches!(
        magic,
        0x0000_6969 // NFS
            | 0x0000_517B // SMB
            | 0xFF53_4D42 // CIFS
            | 0xFE53_4D42 // SMB2 and later
            | 0x0BD0_0BD0 // Lustre
            | 0x4750_4653 // GPFS
            | 0x6573_5546 // FUSE, virtiofs
            | 0x0102_1997 // 9p
            | 0x00C3_6400 // Ceph
            | 0x5346_414F // AFS
            | 0x6B41_4653 // kAFS
            | 0x7375_7245 // Coda
            | 0x7461_636F // OCFS2
            | 0x0116_1970 // GFS2
            | 0x1983_0326 // BeeGFS
            | 0xAAD7_AAEA // PanFS
            | 0x0000_564C // NCP
            | 0x786F_4256 // VirtualBox shared directories
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::is_remote_magic;

    #[test]
    fn knows_remote_from_local() {
        for remote in [0x6969, 0xFF53_4D42, 0x6573_5546] {
            assert!(is_remote_magic(remote));
        }
        // ext4, xfs, btrfs, tmpfs, overlayfs, zfs
        for local in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1] {
            assert!(!is_remote_magic(local));
        }
    }
}
