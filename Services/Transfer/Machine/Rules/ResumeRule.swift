public import Contracts

/// Decides whether a response continues the stored bytes (RFC 9110 sections 13.1.5, 14 and 15.3.7; Apple, "Pausing and
/// resuming downloads").
public enum ResumeRule {
    /// The use of a response.
    public enum Decision: Sendable, Equatable {
        /// The body continues the stored bytes.
        case resume
        /// The body is the whole file. The stored bytes are dropped.
        case restart
        /// The body is neither. The stored bytes are dropped, and the next attempt requests the whole file.
        case contradiction
    }

    /// Returns the use of a response.
    ///
    /// - Parameters:
    ///   - held: the number of stored bytes. Above 0, the request asked for the rest with `If-Range`.
    ///   - known: the response with which the stored bytes began.
    public static func decide(_ head: ResponseHead, held: Int, known: ResponseHead?) -> Decision {
        guard held > 0 else { return .restart }
        switch head.status {
        case 206:
            guard head.rangeStart == held, isSame(head, known) else { return .contradiction }
            return .resume
        case 416:
            // With If-Range, 416 is about the same representation: no bytes follow the stored ones.
            return head.completeLength == held ? .resume : .contradiction
        default: return .restart
        }
    }

    /// Returns the value of `If-Range`: the strong ETag, or else the date; nil if the response can't be resumed.
    public static func validator(_ known: ResponseHead?) -> String? {
        guard let known, (200..<300).contains(known.status), known.acceptsRanges else { return nil }
        // A response with a weak tag can't be resumed, even by date (RFC 9110 section 13.1.5).
        if let etag = known.etag { return etag.hasPrefix("\"") && etag.utf8.count > 2 ? etag : nil }
        return known.lastModified
    }

    /// Returns the offset of the next attempt in bytes; 0 if it restarts.
    static func offset(_ task: TransferTask) -> Int {
        if let upload = task.upload { return upload.offset }
        guard task.kind == .download, task.request.method == "GET", validator(task.response) != nil,
            task.segments.count < TransferMachine.keptSegments
        else { return 0 }
        return task.bytesReceived
    }

    private static func isSame(_ head: ResponseHead, _ known: ResponseHead?) -> Bool {
        if let tag = head.etag, let old = known?.etag, tag != old { return false }
        if let date = head.lastModified, let old = known?.lastModified, date != old { return false }
        guard let complete = head.completeLength, let old = known?.completeLength ?? known?.contentLength else {
            return true
        }
        return complete == old
    }
}

extension TransferTask {
    /// Whether another task can continue: from the stored bytes, or from the bytes that the server of an upload has.
    var canBeResumed: Bool { upload != nil || ResumeRule.offset(self) > 0 }
}
