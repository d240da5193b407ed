import Glibc
import ServiceKit

/// The limits of the storage.
struct StorageLimits: Sendable {
    /// The bytes of the file system that no transfer or upload may use.
    var reserve = 0
    /// The largest size of a download in bytes.
    var largestDownload = Int.max

    init() {}

    init(_ reader: SettingsReader) {
        reserve = reader.number(
            "DATA_RESERVE", 1 << 28, 0...(1 << 50),
            "bytes of the file system of DATA_DIRECTORY that stay free; below it nothing is stored")
        largestDownload = reader.number(
            "DOWNLOAD_MAX_SIZE", 1 << 36, 1...(1 << 50), "largest size of a download in bytes")
    }
}

/// Returns the bytes that are free for this process in the file system of a path.
func freeBytes(at path: String) throws(StorageError) -> Int {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { throw StorageError("reading the free space") }
    return Int(status.f_bavail) * Int(status.f_frsize)
}

/// Returns the bytes that are free for this process in the file system of an open file.
func freeBytes(of descriptor: Int32) throws(StorageError) -> Int {
    var status = statvfs()
    guard fstatvfs(descriptor, &status) == 0 else { throw StorageError("reading the free space") }
    return Int(status.f_bavail) * Int(status.f_frsize)
}
