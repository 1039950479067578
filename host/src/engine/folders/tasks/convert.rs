//! The words of 0.2 in those of 0.3.

use super::types;
use crate::engine::folders::bindings::wasi::filesystem::types as known;
use wasmtime_wasi::p3::bindings::clocks::system_clock::Instant;

use crate::engine::folders::error::{Answer, ErrorCode};
use crate::engine::folders::look::Follow;

impl From<ErrorCode> for types::ErrorCode {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::Access => Self::Access,
            ErrorCode::Already => Self::Already,
            ErrorCode::BadDescriptor => Self::BadDescriptor,
            // 0.3 has no word for what would block.
            ErrorCode::Busy | ErrorCode::WouldBlock => Self::Busy,
            ErrorCode::Deadlock => Self::Deadlock,
            ErrorCode::Quota => Self::Quota,
            ErrorCode::Exist => Self::Exist,
            ErrorCode::FileTooLarge => Self::FileTooLarge,
            ErrorCode::IllegalByteSequence => Self::IllegalByteSequence,
            ErrorCode::InProgress => Self::InProgress,
            ErrorCode::Interrupted => Self::Interrupted,
            ErrorCode::Invalid => Self::Invalid,
            ErrorCode::Io => Self::Io,
            ErrorCode::IsDirectory => Self::IsDirectory,
            ErrorCode::Loop => Self::Loop,
            ErrorCode::TooManyLinks => Self::TooManyLinks,
            ErrorCode::MessageSize => Self::MessageSize,
            ErrorCode::NameTooLong => Self::NameTooLong,
            ErrorCode::NoDevice => Self::NoDevice,
            ErrorCode::NoEntry => Self::NoEntry,
            ErrorCode::NoLock => Self::NoLock,
            ErrorCode::InsufficientMemory => Self::InsufficientMemory,
            ErrorCode::InsufficientSpace => Self::InsufficientSpace,
            ErrorCode::NotDirectory => Self::NotDirectory,
            ErrorCode::NotEmpty => Self::NotEmpty,
            ErrorCode::NotRecoverable => Self::NotRecoverable,
            ErrorCode::Unsupported => Self::Unsupported,
            ErrorCode::NoTty => Self::NoTty,
            ErrorCode::NoSuchDevice => Self::NoSuchDevice,
            ErrorCode::Overflow => Self::Overflow,
            ErrorCode::NotPermitted => Self::NotPermitted,
            ErrorCode::Pipe => Self::Pipe,
            ErrorCode::ReadOnly => Self::ReadOnly,
            ErrorCode::InvalidSeek => Self::InvalidSeek,
            ErrorCode::TextFileBusy => Self::TextFileBusy,
            ErrorCode::CrossDevice => Self::CrossDevice,
        }
    }
}

impl From<known::DescriptorType> for types::DescriptorType {
    fn from(kind: known::DescriptorType) -> Self {
        match kind {
            known::DescriptorType::Unknown => Self::Other(None),
            known::DescriptorType::BlockDevice => Self::BlockDevice,
            known::DescriptorType::CharacterDevice => Self::CharacterDevice,
            known::DescriptorType::Directory => Self::Directory,
            known::DescriptorType::Fifo => Self::Fifo,
            known::DescriptorType::SymbolicLink => Self::SymbolicLink,
            known::DescriptorType::RegularFile => Self::RegularFile,
            known::DescriptorType::Socket => Self::Socket,
        }
    }
}

impl From<known::DirectoryEntry> for types::DirectoryEntry {
    fn from(entry: known::DirectoryEntry) -> Self {
        let known::DirectoryEntry { type_, name } = entry;
        Self { type_: type_.into(), name }
    }
}

impl From<known::DescriptorStat> for types::DescriptorStat {
    fn from(stat: known::DescriptorStat) -> Self {
        Self {
            type_: stat.type_.into(),
            link_count: stat.link_count,
            size: stat.size,
            data_access_timestamp: stat.data_access_timestamp.map(instant),
            data_modification_timestamp: stat.data_modification_timestamp.map(instant),
            status_change_timestamp: stat.status_change_timestamp.map(instant),
        }
    }
}

fn instant(time: known::Datetime) -> Instant {
    let seconds = i64::try_from(time.seconds).unwrap_or(i64::MAX);
    Instant { seconds, nanoseconds: time.nanoseconds }
}

impl From<known::MetadataHashValue> for types::MetadataHashValue {
    fn from(hash: known::MetadataHashValue) -> Self {
        let known::MetadataHashValue { lower, upper } = hash;
        Self { lower, upper }
    }
}

/// A time that is to be set; none before 1970 is kept.
pub(super) fn new_time(time: types::NewTimestamp) -> Answer<known::NewTimestamp> {
    Ok(match time {
        types::NewTimestamp::NoChange => known::NewTimestamp::NoChange,
        types::NewTimestamp::Now => known::NewTimestamp::Now,
        types::NewTimestamp::Timestamp(Instant { seconds, nanoseconds }) => {
            let seconds = u64::try_from(seconds).map_err(|_| ErrorCode::Overflow)?;
            known::NewTimestamp::Timestamp(known::Datetime { seconds, nanoseconds })
        }
    })
}

pub(super) fn follow(flags: types::PathFlags) -> Follow {
    let is_followed = flags.contains(types::PathFlags::SYMLINK_FOLLOW);
    if is_followed { Follow::Yes } else { Follow::No }
}

pub(super) fn open_flags(flags: types::OpenFlags) -> known::OpenFlags {
    let all = [
        (types::OpenFlags::CREATE, known::OpenFlags::CREATE),
        (types::OpenFlags::DIRECTORY, known::OpenFlags::DIRECTORY),
        (types::OpenFlags::EXCLUSIVE, known::OpenFlags::EXCLUSIVE),
        (types::OpenFlags::TRUNCATE, known::OpenFlags::TRUNCATE),
    ];
    let set = all.into_iter().filter(|(flag, _)| flags.contains(*flag));
    set.fold(known::OpenFlags::empty(), |all, (_, flag)| all | flag)
}

/// Each flag in both.
const DESCRIPTOR_FLAGS: [(types::DescriptorFlags, known::DescriptorFlags); 6] = [
    (types::DescriptorFlags::READ, known::DescriptorFlags::READ),
    (types::DescriptorFlags::WRITE, known::DescriptorFlags::WRITE),
    (types::DescriptorFlags::FILE_INTEGRITY_SYNC, known::DescriptorFlags::FILE_INTEGRITY_SYNC),
    (types::DescriptorFlags::DATA_INTEGRITY_SYNC, known::DescriptorFlags::DATA_INTEGRITY_SYNC),
    (types::DescriptorFlags::REQUESTED_WRITE_SYNC, known::DescriptorFlags::REQUESTED_WRITE_SYNC),
    (types::DescriptorFlags::MUTATE_DIRECTORY, known::DescriptorFlags::MUTATE_DIRECTORY),
];

/// What a descriptor is for: who makes a file may write it, and who asks for nothing reads.
pub(super) fn descriptor_flags(
    flags: types::DescriptorFlags,
    open: types::OpenFlags,
) -> known::DescriptorFlags {
    let set = DESCRIPTOR_FLAGS.into_iter().filter(|(flag, _)| flags.contains(*flag));
    let mut known = set.fold(known::DescriptorFlags::empty(), |all, (_, flag)| all | flag);
    if !known.intersects(known::DescriptorFlags::READ | known::DescriptorFlags::WRITE) {
        known |= known::DescriptorFlags::READ;
    }
    if open.contains(types::OpenFlags::CREATE) {
        known |= known::DescriptorFlags::WRITE;
    }
    known
}

pub(super) fn flags_of(flags: known::DescriptorFlags) -> types::DescriptorFlags {
    let set = DESCRIPTOR_FLAGS.into_iter().filter(|(_, flag)| flags.contains(*flag));
    set.fold(types::DescriptorFlags::empty(), |all, (flag, _)| all | flag)
}
