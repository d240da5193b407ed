import HTTPTypes
import Identity
import Synchronization

/// Limits the requests in progress, for the whole process and for each holder.
///
/// Each ``Kind`` has its own limit, so that waiting devices, slow uploads and slow readers leave slots for commands.
/// Requests without a credential have slots of their own, which their addresses share.
public final class RequestSlots: Sendable {
    /// The activity of a request that holds a slot.
    public enum Kind: Int, Sendable, CaseIterable {
        /// The service processes it.
        case work
        /// It waits for an event, like a long poll. It needs memory and no processor time.
        case wait
        /// It receives and stores content that is not a JSON document.
        case body
        /// It receives a JSON document. So clients that send slowly take no slot for work.
        case document
        /// Its answer is a stream of events. The slot is taken until the stream ends.
        case stream
        /// Its answer is long. The slot is taken until the answer is sent.
        case download
        /// It needs no credential. The slot is taken until a long answer is sent.
        case open
        /// It asks for the health or the metrics of the process.
        case probe
    }

    /// The client that holds slots.
    enum Holder: Hashable, Sendable {
        case caller(Caller)
        /// All devices of a fleet together.
        case devices(fleet: String)
        /// The address of a request without a credential, as ``AddressLimit`` counts it; nil for a local socket.
        case address([UInt8]?)

        /// The holder, and the group of which it is a part.
        fileprivate var groups: [Holder] {
            if case .caller(.device(_, let fleet)) = self { [self, .devices(fleet: fleet)] } else { [self] }
        }

        /// The refusal of a holder that has its share.
        var refusal: Problem {
            switch self {
            case .caller: .tooManyInFlight
            case .devices:
                Problem.tooManyInFlight.with(
                    detail: "The devices of this fleet have too many requests in progress. Wait for answers.")
            case .address: .tooManyFromAddress
            }
        }
    }

    /// The most requests in progress at a time.
    public struct Limits: Sendable {
        /// Over all holders.
        public var work = 1024
        public var waits = 16_384
        public var bodies = 512
        public var documents = 4096
        public var streams = 32_768
        public var downloads = 2048
        public var open = 4096
        public var probes = 512
        /// For one device. A fleet, an operator's key or an address may have half of all slots.
        public var deviceWork = 32
        public var deviceWaits = 16
        public var deviceBodies = 16
        public var deviceDocuments = 32
        public var deviceStreams = 16
        public var deviceDownloads = 16
        private let knowsAddresses: Bool

        /// - Parameter knowsAddresses: whether each client has its own address. Behind a proxy that does not tell them,
        ///   all clients have one, and it may have all slots.
        public init(knowsAddresses: Bool = true) { self.knowsAddresses = knowsAddresses }

        func total(_ kind: Kind) -> Int {
            switch kind {
            case .work: work
            case .wait: waits
            case .body: bodies
            case .document: documents
            case .stream: streams
            case .download: downloads
            case .open: open
            case .probe: probes
            }
        }

        func share(_ kind: Kind, of holder: Holder) -> Int {
            switch holder {
            case .caller(.device): device(kind)
            case .devices: fleet(kind)
            case .address where !knowsAddresses: total(kind)
            case .caller, .address: max(1, total(kind) / 2)
            }
        }

        // Slow senders of one fleet leave slots to the others. Waits and long answers need no processor time.
        private func fleet(_ kind: Kind) -> Int {
            switch kind {
            case .work, .document, .body: max(1, total(kind) * 3 / 4)
            case .wait, .stream, .download, .open, .probe: total(kind)
            }
        }

        private func device(_ kind: Kind) -> Int {
            switch kind {
            case .work: deviceWork
            case .wait: deviceWaits
            case .body: deviceBodies
            case .document: deviceDocuments
            case .stream: deviceStreams
            case .download: deviceDownloads
            // Only requests without a credential have these.
            case .open, .probe: 0
            }
        }
    }

    private struct State {
        var total = 0
        var byHolder: [Holder: Int] = [:]
    }

    private let limits: Limits
    private let states = Kind.allCases.map { _ in Guarded(State()) }

    public init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Takes a slot.
    ///
    /// - Throws: `busy` if all slots are taken, `too_many_in_flight` or `too_many_from_address` if the holder has its
    ///   share.
    func enter(_ kind: Kind, _ holder: Holder) throws(Problem) {
        let (limit, holders) = (limits.total(kind), holder.groups)
        let problem = states[kind.rawValue].value.withLock { state -> Problem? in
            guard state.total < limit else { return .busy }
            for holder in holders where state.byHolder[holder, default: 0] >= limits.share(kind, of: holder) {
                return holder.refusal
            }
            state.total += 1
            for holder in holders { state.byHolder[holder, default: 0] += 1 }
            return nil
        }
        if let problem { throw problem }
    }

    /// Takes a slot even beyond the limit, for a request that can't be refused any more.
    func enterAnyway(_ kind: Kind, _ holder: Holder) {
        states[kind.rawValue].value.withLock { state in
            state.total += 1
            for holder in holder.groups { state.byHolder[holder, default: 0] += 1 }
        }
    }

    func leave(_ kind: Kind, _ holder: Holder) {
        states[kind.rawValue].value.withLock { state in
            state.total -= 1
            for holder in holder.groups {
                let own = state.byHolder[holder, default: 1] - 1
                state.byHolder[holder] = own > 0 ? own : nil
            }
        }
    }

    /// The number of slots of a kind that are taken.
    func count(_ kind: Kind) -> Int { states[kind.rawValue].value.withLock { $0.total } }

    /// A mutex that an array can hold.
    private final class Guarded: Sendable {
        let value: Mutex<State>
        init(_ state: sending State) { value = Mutex(state) }
    }
}

/// The slot that a request holds.
struct HeldSlot: Sendable {
    let slots: RequestSlots
    let kind: RequestSlots.Kind
    let holder: RequestSlots.Holder
}

extension ServiceContext {
    /// Runs a `body` that waits for an event. Meanwhile the request holds a slot for waits instead of its own.
    ///
    /// - Throws: `busy` or `too_many_in_flight` if too many wait already; the error of `body`.
    public func waiting<T>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> T
    ) async throws -> T {
        guard let held else { return try await body() }
        try held.slots.enter(.wait, held.holder)
        held.slots.leave(held.kind, held.holder)
        defer {
            held.slots.leave(.wait, held.holder)
            held.slots.enterAnyway(held.kind, held.holder)
        }
        return try await body()
    }

    /// Runs a `body` that receives the document of a request. Meanwhile the request holds a slot for documents instead of
    /// its own.
    ///
    /// - Throws: `busy` or `too_many_in_flight` if there are too many such requests, or if no slot for work is free
    ///   afterwards; the error of `body`.
    func receiving<T>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> T
    ) async throws -> T {
        guard let held, held.kind == .work else { return try await body() }
        try held.slots.enter(.document, held.holder)
        held.slots.leave(.work, held.holder)
        let result: Result<T, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        held.slots.leave(.document, held.holder)
        do { try held.slots.enter(.work, held.holder) } catch {
            // The entrance frees the slot after the answer.
            held.slots.enterAnyway(.work, held.holder)
            throw error
        }
        return try result.get()
    }
}

extension Problem {
    public static let tooManyInFlight = Problem(
        .tooManyRequests, "too_many_in_flight", "Credential has too many requests in progress",
        detail: "Wait for answers before you send more requests with this credential.", retryAfter: 1)
    public static let tooManyFromAddress = Problem(
        .tooManyRequests, "too_many_from_address", "Address has too many requests in progress",
        detail: "Wait for answers before you send more requests without a credential.", retryAfter: 1)
}
