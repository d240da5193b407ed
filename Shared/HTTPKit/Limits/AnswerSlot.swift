public import Hummingbird
import Identity
import Synchronization

/// A slot that outlives the handler of a request: it is taken until the answer is sent.
///
/// It is free at the latest when no answer refers to it. A middleware may replace an answer, and a connection may end
/// before the body of the answer is written.
final class AnswerSlot: Sendable {
    private let slots: RequestSlots
    private let kind: RequestSlots.Kind
    private let holder: RequestSlots.Holder
    private let isTaken = Atomic(true)

    /// Wraps a slot that is taken.
    fileprivate init(_ slots: RequestSlots, _ kind: RequestSlots.Kind, _ holder: RequestSlots.Holder) {
        (self.slots, self.kind, self.holder) = (slots, kind, holder)
    }

    deinit { leave() }

    /// Frees the slot, once.
    func leave() {
        if isTaken.exchange(false, ordering: .relaxed) { slots.leave(kind, holder) }
    }

    /// Returns an answer that keeps the slot until it is sent, or until it fails. A short one frees the slot now.
    func kept(by answer: Response) -> Response {
        guard answer.isLong else {
            leave()
            return answer
        }
        var answer = answer
        let body = answer.body
        answer.body = ResponseBody(contentLength: body.contentLength) { writer in
            defer { self.leave() }
            try await body.write(writer)
        }
        return answer
    }
}

extension RequestSlots {
    /// Takes a slot for a request and its answer.
    ///
    /// - Throws: `busy`, `too_many_in_flight`, `too_many_from_address`.
    func take(_ kind: Kind, _ holder: Holder) throws(Problem) -> AnswerSlot {
        try enter(kind, holder)
        return AnswerSlot(self, kind, holder)
    }

    /// Returns the answer to a caller. A long one keeps a slot until it is sent.
    ///
    /// - Parameter mayRefuse: false for the answer to a command, which has taken effect. It is sent even beyond the
    ///   limit, and counts.
    /// - Throws: `busy`, `too_many_in_flight`.
    func keep(_ answer: Response, for caller: Caller, mayRefuse: Bool) throws(Problem) -> Response {
        guard answer.isLong else { return answer }
        // Only streams of events have no length.
        let kind: Kind = answer.body.contentLength == nil ? .stream : .download
        if mayRefuse { try enter(kind, .caller(caller)) } else { enterAnyway(kind, .caller(caller)) }
        return AnswerSlot(self, kind, .caller(caller)).kept(by: answer)
    }
}

extension Response {
    /// The most bytes of an answer that needs no slot while it is sent. A connection buffers as much.
    public static let longestShort = 64 * 1024

    /// Whether a slow client may delay the end of the answer.
    fileprivate var isLong: Bool { body.contentLength.map { $0 > Self.longestShort } ?? true }
}
