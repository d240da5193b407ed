import CLibpq
import Dispatch
import Glibc
import Logging
import Telemetry

/// An open `PGconn` and the watch of its socket, in non-blocking pipeline mode. Only the queue of its connection actor
/// uses it. `deinit` ends the session.
final class Session {
    let pointer: OpaquePointer
    let socket: Int32
    let watch: SocketWatch
    let canceller: Canceller?
    /// Whether TLS is on. Bytes that OpenSSL holds but libpq has not read make no socket readable.
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
        // Ending the session belongs on the queue too.
        queue.async { remains.discard() }
    }

    var isBad: Bool { PQstatus(pointer) == CONNECTION_BAD }

    /// Blocks for at most `milliseconds`; true if the socket is ready or has an error.
    func poll(write: Bool, milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: socket, events: Int16(POLLIN) | (write ? Int16(POLLOUT) : 0), revents: 0)
        return Glibc.poll(&entry, 1, milliseconds) > 0
    }

    /// Reads unsolicited messages: notices, notifications, or the end of the session.
    /// - Returns: whether the connection is alive.
    func pollForDisconnect() -> Bool {
        while poll(write: false, milliseconds: 0) {
            guard PQconsumeInput(pointer) == 1 else { return false }
            _ = PQisBusy(pointer)
        }
        return !isBad
    }
}

/// The resources of a session after its `deinit`.
///
/// `@unchecked Sendable`: only `deinit` creates it, so no other code has its pointers, and it is used once.
private struct Remains: @unchecked Sendable {
    let pointer: OpaquePointer
    let notices: Unmanaged<NoticeLog>

    func discard() {
        PQfinish(pointer)
        notices.release()
    }
}

/// Logs notices at debug level because they may quote values; libpq would print them to standard error.
private final class NoticeLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    func note(_ result: OpaquePointer) {
        logger.debug("received PostgreSQL notice", metadata: [LogKey.notice: "\(ServerError(result).debugDescription)"])
    }
}

extension ServerError {
    /// Reads the fields of an error result. Errors of libpq, like a lost connection, have only a message.
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
