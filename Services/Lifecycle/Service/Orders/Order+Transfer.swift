import Contracts
import Records

extension TransferEvent: OrderGiver {
    static let orderTypes: Set<String> = [
        EventsDelivered.type, ProgressMade.type, ResponseReceived.type, BodySent.type, ProgressReported.type,
        DownloadFinished.type, ChallengePresented.type, DelayedRequestPresented.type,
        RedirectPresented.type, InformationalReceived.type, SessionEnded.type,
    ]

    /// The callbacks of a session's delegate (URLSessionTaskDelegate, URLSessionDownloadDelegate).
    var orderContent: OrderContent? {
        switch self {
        case .eventsDelivered(let event): event.orderContent
        case .progressMade(let event): event.orderContent
        case .responseReceived(let event): event.orderContent
        case .bodySent(let event): event.orderContent
        case .progressReported(let event): event.orderContent
        case .downloadFinished(let event): event.orderContent
        case .challengePresented(let event): event.orderContent
        case .delayedRequestPresented(let event): event.orderContent
        case .redirectPresented(let event): event.orderContent
        case .informationalReceived(let event): event.orderContent
        case .sessionEnded(let event): event.orderContent
        default: nil
        }
    }
}

extension TransferEvent.EventsDelivered {
    /// One `didCompleteWithError` for each task, in the order in which they finished.
    fileprivate var orderContent: OrderContent? {
        let completed = tasks.map { _ in "didCompleteWithError" }
        return OrderContent(
            finishesEvents ? completed + ["urlSessionDidFinishEvents"] : completed,
            [.init("session", .string(session)), .init("tasks", .array(tasks.map { .int($0) }))])
    }
}

extension TransferTaskEventData {
    /// The task of an order.
    fileprivate var place: [JSON.Member] { [.init("session", .string(session)), .init("task", .int(task))] }
}

extension TransferEvent.ProgressMade {
    /// At most one for each task in 250 ms and in 1 MiB, and one at the end of each attempt. Bytes are reported at this
    /// rate.
    fileprivate var orderContent: OrderContent? {
        guard isDelivered else { return nil }
        return OrderContent(
            .transferProgress, "didWriteData",
            place + [
                .init("bytesWritten", .int(bytesWritten)),
                .init("totalBytesExpectedToWrite", totalBytesExpectedToWrite.map { .int($0) } ?? .null),
                .init("totalBytesWritten", .int(totalBytesWritten)),
            ])
    }
}

extension TransferEvent.BodySent {
    fileprivate var orderContent: OrderContent? {
        guard isDelivered else { return nil }
        return OrderContent(
            .transferProgress, "didSendBodyData",
            place + [
                .init("bytesSent", .int(bytesSent)),
                .init("totalBytesExpectedToSend", .int(totalBytesExpectedToSend)),
                .init("totalBytesSent", .int(totalBytesSent)),
            ])
    }
}

extension TransferEvent.ResponseReceived {
    /// Set if the transfer continues after existing bytes.
    fileprivate var orderContent: OrderContent? {
        guard isDelivered, from > 0 else { return nil }
        return OrderContent(
            .transferProgress, "didResumeAtOffset",
            place + [
                .init("expectedTotalBytes", response.completeLength.map { .int($0) } ?? .null),
                .init("fileOffset", .int(from)),
            ])
    }
}

extension TransferEvent.ProgressReported {
    /// The last progress that a suspended app has missed, in the form of the missed callback.
    fileprivate var orderContent: OrderContent? {
        var data = place
        if let resumedAt { data.append(.init("fileOffset", .int(resumedAt))) }
        let expected: JSON = totalBytesExpected.map { .int($0) } ?? .null
        switch kind {
        case .download where bytes == 0:
            return OrderContent(.transferProgress, "didResumeAtOffset", data + [.init("expectedTotalBytes", expected)])
        case .download:
            data += [
                .init("bytesWritten", .int(bytes)), .init("totalBytesExpectedToWrite", expected),
                .init("totalBytesWritten", .int(totalBytes)),
            ]
            return OrderContent(.transferProgress, "didWriteData", data)
        case .upload:
            data += [
                .init("bytesSent", .int(bytes)), .init("totalBytesExpectedToSend", expected),
                .init("totalBytesSent", .int(totalBytes)),
            ]
            return OrderContent(.transferProgress, "didSendBodyData", data)
        }
    }
}

extension TransferEvent.DownloadFinished {
    /// The file stays until the callback completes with a claim, or until the deadline.
    fileprivate var orderContent: OrderContent? { OrderContent(["didFinishDownloadingTo"], deadline: until, place) }
}

extension TransferEvent.ChallengePresented {
    /// `URLAuthenticationChallenge` with its protection space.
    fileprivate var orderContent: OrderContent? {
        OrderContent(
            .challenge, "didReceiveChallenge", deadline: until,
            place + [
                .init("authenticationMethod", .string(challenge.authenticationMethod.rawValue)),
                .init("fingerprint", challenge.fingerprint.map { .string($0) } ?? .null),
                .init("host", .string(challenge.host)), .init("id", .string(id)),
                .init("isProxy", .bool(challenge.isProxy)), .init("port", .int(challenge.port)),
                .init("previousFailureCount", .int(challenge.previousFailureCount)),
                .init("realm", challenge.realm.map { .string($0) } ?? .null),
            ])
    }
}

extension TransferEvent.DelayedRequestPresented {
    /// The task continues with its request unless the app answers before the deadline.
    fileprivate var orderContent: OrderContent? {
        OrderContent(["willBeginDelayedRequest"], deadline: until, place + [.init("url", .string(url))])
    }
}

extension TransferEvent.RedirectPresented {
    /// The task follows the redirect unless the app answers before the deadline.
    fileprivate var orderContent: OrderContent? {
        OrderContent(
            ["willPerformHTTPRedirection"], deadline: until,
            place + [.init("method", .string(method)), .init("status", .int(status)), .init("url", .string(url))])
    }
}

extension TransferEvent.InformationalReceived {
    fileprivate var orderContent: OrderContent? {
        OrderContent(
            ["didReceiveInformationalResponse"],
            place + [
                .init("link", response.link.map { .string($0) } ?? .null),
                .init("location", response.location.map { .string($0) } ?? .null),
                .init("status", .int(response.status)),
            ])
    }
}

extension TransferEvent.SessionEnded {
    fileprivate var orderContent: OrderContent? {
        OrderContent(["didBecomeInvalidWithError"], [.init("session", .string(session))])
    }
}
