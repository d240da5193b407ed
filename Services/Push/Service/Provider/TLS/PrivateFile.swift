import Glibc

/// Writes files with secrets: their permissions are set before their content.
enum PrivateFile {
    /// Replaces a file and flushes it to disk.
    ///
    /// - Returns: whether the write succeeded.
    static func write(_ text: String, to path: String, mode: mode_t = 0o600) -> Bool {
        // Never writes into an existing file, which may have other permissions.
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
