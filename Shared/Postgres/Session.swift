import CLibpq
import Dispatch
import Glibc
import Logging

/// An open `PGconn` with its socket's watch, in non-blocking pipeline mode. Belongs to one connection actor and is used
/// on its queue only; ends the session in `deinit`.
final class Session {
    let pointer: OpaquePointer
    let socket: Int32
    let watch: SocketWatch
    let canceller: Canceller?
    /// Bytes that OpenSSL has decrypted and libpq has not read make no socket readable.
    let isEncrypted: Bool
    private let queue: DispatchQueue
    private let notices: Unmanaged<NoticeLog>

    init(
        _ pointer: OpaquePointer, queue: DispatchQueue, logger: Logger, wake: @escaping @Sendable () -> Void
    ) {
        self.pointer = pointer
        self.queue = queue
        socket = PQsocket(pointer)
        watch = SocketWatch(socket, queue: queue, wake: wake)
        canceller = Canceller(pointer)
        isEncrypted = PQsslInUse(pointer) == 1
        notices = .passRetained(NoticeLog(logger))
        PQsetErrorVerbosity(pointer, PQERRORS_DEFAULT)
        _ = PQsetNoticeReceiver(
            pointer,
            { context, result in
                guard let context, let result else { return }
                Unmanaged<NoticeLog>.fromOpaque(context).takeUnretainedValue().note(result)
            }, notices.toOpaque())
        PQsetnonblocking(pointer, 1)
        PQenterPipelineMode(pointer)
    }

    deinit {
        let remains = Remains(pointer: pointer, notices: notices)
        watch.cancel()
        // Saying goodbye to the server belongs on the queue too.
        queue.async { remains.bury() }
    }

    var isBad: Bool { PQstatus(pointer) == CONNECTION_BAD }

    /// Waits in the kernel, at most `milliseconds`; true when something is ready (errors count as ready).
    func poll(write: Bool, milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: socket, events: Int16(POLLIN) | (write ? Int16(POLLOUT) : 0), revents: 0)
        return Glibc.poll(&entry, 1, milliseconds) > 0
    }

    /// Reads what came while nothing was asked: notices, notifications, or the server's goodbye.
    /// - Returns: false when the connection has ended.
    func readUnasked() -> Bool {
        while poll(write: false, milliseconds: 0) {
            guard PQconsumeInput(pointer) == 1 else { return false }
            _ = PQisBusy(pointer)
        }
        return !isBad
    }
}

/// What is left of a session when its owner is gone.
///
/// Sendable though it holds pointers: it is made in `deinit`, so nobody else has them, and used once.
private struct Remains: @unchecked Sendable {
    let pointer: OpaquePointer
    let notices: Unmanaged<NoticeLog>

    func bury() {
        PQfinish(pointer)
        notices.release()
    }
}

/// Notices may quote values, so they go to the debug log only; libpq would print them to standard error.
private final class NoticeLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    func note(_ result: OpaquePointer) {
        logger.debug("PostgreSQL notice", metadata: ["notice": "\(ServerError(result).debugDescription)"])
    }
}

extension ServerError {
    /// The fields of an error result. libpq's own errors (a broken connection) have a message only.
    init(_ result: OpaquePointer) {
        func field(_ code: Character) -> String? {
            code.asciiValue.flatMap { PQresultErrorField(result, Int32($0)) }.map { String(cString: $0) }
        }
        self.init(
            sqlState: field("C") ?? "XX000", severity: field("V") ?? "FATAL",
            message: field("M") ?? PQresultErrorMessage(result).map { String(cString: $0) } ?? "",
            detail: field("D"), hint: field("H"), constraint: field("n"), schema: field("s"), table: field("t"),
            column: field("c"))
    }
}
