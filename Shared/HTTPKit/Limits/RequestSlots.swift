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
        /// The address of a request without a credential, as ``AddressLimit`` counts it; nil for a local socket.
        case address([UInt8]?)

        /// The refusal of a holder that has its share.
        var refusal: Problem {
            switch self {
            case .caller: .tooManyInFlight
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
        public var streams = 32_768
        public var downloads = 2048
        public var open = 4096
        public var probes = 512
        /// For one device. A fleet, an operator's key or an address may have half of all slots.
        public var deviceWork = 32
        public var deviceWaits = 16
        public var deviceBodies = 16
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
            case .stream: streams
            case .download: downloads
            case .open: open
            case .probe: probes
            }
        }

        func share(_ kind: Kind, of holder: Holder) -> Int {
            switch holder {
            case .caller(.device): device(kind)
            case .address where !knowsAddresses: total(kind)
            case .caller, .address: max(1, total(kind) / 2)
            }
        }

        private func device(_ kind: Kind) -> Int {
            switch kind {
            case .work: deviceWork
            case .wait: deviceWaits
            case .body: deviceBodies
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
        let (limit, share) = (limits.total(kind), limits.share(kind, of: holder))
        let problem = states[kind.rawValue].value.withLock { state -> Problem? in
            guard state.total < limit else { return .busy }
            let own = state.byHolder[holder, default: 0]
            guard own < share else { return holder.refusal }
            state.total += 1
            state.byHolder[holder] = own + 1
            return nil
        }
        if let problem { throw problem }
    }

    /// Takes a slot even beyond the limit, for a request that can't be refused any more.
    func enterAnyway(_ kind: Kind, _ holder: Holder) {
        states[kind.rawValue].value.withLock { state in
            state.total += 1
            state.byHolder[holder, default: 0] += 1
        }
    }

    func leave(_ kind: Kind, _ holder: Holder) {
        states[kind.rawValue].value.withLock { state in
            state.total -= 1
            guard let own = state.byHolder[holder], own > 1 else { return state.byHolder[holder] = nil }
            state.byHolder[holder] = own - 1
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
}

extension Problem {
    public static let tooManyInFlight = Problem(
        .tooManyRequests, "too_many_in_flight", "Credential has too many requests in progress",
        detail: "Wait for answers before you send more requests with this credential.", retryAfter: 1)
    public static let tooManyFromAddress = Problem(
        .tooManyRequests, "too_many_from_address", "Address has too many requests in progress",
        detail: "Wait for answers before you send more requests without a credential.", retryAfter: 1)
}
