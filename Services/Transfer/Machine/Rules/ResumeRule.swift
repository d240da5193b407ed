public import Contracts

/// Whether an answer goes on where the bytes end that are there (RFC 9110 sections 13.1.5, 14 and 15.3.7; Apple, "Pausing and
/// resuming downloads").
public enum ResumeRule {
    public enum Decision: Sendable, Equatable {
        /// Its body follows the bytes that are there.
        case resume
        /// Its body is the whole: what is there is dropped.
        case restart
        /// It fits neither: what is there is dropped, and the next attempt asks for the whole.
        case contradiction
    }

    /// - Parameters:
    ///   - held: how many bytes are there; with more than 0 the rest was asked for, with `If-Range`.
    ///   - known: the answer that they came with.
    public static func decide(_ head: ResponseHead, held: Int, known: ResponseHead?) -> Decision {
        guard held > 0 else { return .restart }
        switch head.status {
        case 206:
            guard head.rangeStart == held, isSame(head, known) else { return .contradiction }
            return .resume
        case 416:
            // With If-Range the server says this of the same representation only: there is nothing behind the last byte.
            return head.completeLength == held ? .resume : .contradiction
        default: return .restart
        }
    }

    /// What to send as `If-Range`: the strong ETag, else the date; nil where the bytes of this answer can't be gone on from.
    public static func validator(_ known: ResponseHead?) -> String? {
        guard let known, (200..<300).contains(known.status), known.acceptsRanges else { return nil }
        // With a tag that is weak there is no other way (RFC 9110 section 13.1.5).
        if let etag = known.etag { return etag.hasPrefix("\"") && etag.utf8.count > 2 ? etag : nil }
        return known.lastModified
    }

    /// From where the next attempt of a task may go on, in bytes; 0 where it begins again.
    static func offset(_ task: TransferTask) -> Int {
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
    /// Whether what is there is worth anything to another task.
    var canBeResumed: Bool { ResumeRule.offset(self) > 0 }
}
