import HTTPTypes
import Identity
import Synchronization

/// Limits the requests in progress, for the whole process and for each caller.
///
/// Each ``Kind`` has its own limit, so that waiting devices and slow uploads leave slots for commands.
public final class RequestSlots: Sendable {
    /// The activity of a request that holds a slot.
    public enum Kind: Int, Sendable, CaseIterable {
        /// The service processes it.
        case work
        /// It waits for an event, like a long poll. It needs memory and no processor time.
        case wait
        /// It receives and stores content that is not a JSON document.
        case body
    }

    /// The most requests in progress at a time.
    public struct Limits: Sendable {
        /// Over all callers.
        public var work = 1024
        public var waits = 16_384
        public var bodies = 512
        /// For one device. A fleet or an operator's key may have half of all slots.
        public var deviceWork = 32
        public var deviceWaits = 16
        public var deviceBodies = 16

        public init() {}

        func total(_ kind: Kind) -> Int {
            switch kind {
            case .work: work
            case .wait: waits
            case .body: bodies
            }
        }

        func share(_ kind: Kind, of caller: Caller) -> Int {
            guard case .device = caller else { return max(1, total(kind) / 2) }
            return switch kind {
            case .work: deviceWork
            case .wait: deviceWaits
            case .body: deviceBodies
            }
        }
    }

    private struct State {
        var total = 0
        var byCaller: [Caller: Int] = [:]
    }

    private let limits: Limits
    private let states = Kind.allCases.map { _ in Guarded(State()) }

    public init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Takes a slot.
    ///
    /// - Throws: `busy` if all slots are taken, `too_many_in_flight` if the caller has its share.
    func enter(_ kind: Kind, _ caller: Caller) throws(Problem) {
        let (limit, share) = (limits.total(kind), limits.share(kind, of: caller))
        let problem = states[kind.rawValue].value.withLock { state -> Problem? in
            guard state.total < limit else { return .busy }
            let own = state.byCaller[caller, default: 0]
            guard own < share else { return .tooManyInFlight }
            state.total += 1
            state.byCaller[caller] = own + 1
            return nil
        }
        if let problem { throw problem }
    }

    /// Takes a slot for a request that had one before, even beyond the limit.
    func reenter(_ kind: Kind, _ caller: Caller) {
        states[kind.rawValue].value.withLock { state in
            state.total += 1
            state.byCaller[caller, default: 0] += 1
        }
    }

    func leave(_ kind: Kind, _ caller: Caller) {
        states[kind.rawValue].value.withLock { state in
            state.total -= 1
            guard let own = state.byCaller[caller], own > 1 else { return state.byCaller[caller] = nil }
            state.byCaller[caller] = own - 1
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
    let caller: Caller
}

extension ServiceContext {
    /// Runs a `body` that waits for an event. Meanwhile the request holds a slot for waits instead of its own.
    ///
    /// - Throws: `busy` or `too_many_in_flight` if too many wait already; the error of `body`.
    public func waiting<T>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> T
    ) async throws -> T {
        guard let held else { return try await body() }
        try held.slots.enter(.wait, held.caller)
        held.slots.leave(held.kind, held.caller)
        defer {
            held.slots.leave(.wait, held.caller)
            held.slots.reenter(held.kind, held.caller)
        }
        return try await body()
    }
}

extension Problem {
    public static let tooManyInFlight = Problem(
        .tooManyRequests, "too_many_in_flight", "Credential has too many requests in progress",
        detail: "Wait for answers before you send more requests with this credential.", retryAfter: 1)
}
