import Glibc

/// Files with secrets: who may read them is settled before anything is in them.
enum PrivateFile {
    /// Writes a file anew, to the disk.
    ///
    /// - Returns: whether it is written.
    static func write(_ text: String, to path: String, mode: mode_t = 0o600) -> Bool {
        // One of a former try, or of other rights, is not written into.
        unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return false }
            rest = rest.dropFirst(written)
        }
        return fsync(descriptor) == 0
    }
}
