import Contracts
import Records

extension TransferEvent: OrderGiver {
    static let orderTypes: Set<String> = [EventsDelivered.type, ProgressMade.type, ResponseReceived.type]

    /// What the delegate of a session is told (URLSessionTaskDelegate, URLSessionDownloadDelegate).
    var told: Told? {
        switch self {
        case .eventsDelivered(let event): event.told
        case .progressMade(let event): event.told
        case .responseReceived(let event): event.told
        default: nil
        }
    }
}

extension TransferEvent.EventsDelivered {
    /// One `didCompleteWithError` for each task, in the order in which they finished.
    fileprivate var told: Told? {
        let completed = tasks.map { _ in "didCompleteWithError" }
        return Told(
            finishesEvents ? completed + ["urlSessionDidFinishEvents"] : completed,
            [.init("session", .string(session)), .init("tasks", .array(tasks.map { .int($0) }))])
    }
}

extension TransferEvent.ProgressMade {
    /// At most one a task in 250 ms, and in 1 MiB, and one at the end of each attempt: so sparingly are bytes reported.
    fileprivate var told: Told? {
        Told(
            .transferProgress, "didWriteData",
            [
                .init("bytesWritten", .int(bytesWritten)), .init("session", .string(session)),
                .init("task", .int(task)),
                .init("totalBytesExpectedToWrite", totalBytesExpectedToWrite.map { .int($0) } ?? .null),
                .init("totalBytesWritten", .int(totalBytesWritten)),
            ])
    }
}

extension TransferEvent.ResponseReceived {
    /// Where the transfer goes on from bytes that were there.
    fileprivate var told: Told? {
        guard from > 0 else { return nil }
        return Told(
            .transferProgress, "didResumeAtOffset",
            [
                .init("expectedTotalBytes", response.completeLength.map { .int($0) } ?? .null),
                .init("fileOffset", .int(from)), .init("session", .string(session)), .init("task", .int(task)),
            ])
    }
}
