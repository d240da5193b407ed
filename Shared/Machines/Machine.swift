public import Contracts
import Foundation
public import Records
public import Timeline

/// What a service knows about one aggregate, and the rules by which it changes: a pure value.
///
/// No I/O, no clock, no randomness, no iteration over unordered collections, floating point with + − × ÷ √ only: the same
/// inputs give the same events, byte for byte, on any machine. State is nothing but the fold of the machine's own events.
public protocol Machine: Record {
    associatedtype Command: Sendable
    associatedtype OwnEvent: EventFamily
    associatedtype Refusal: MachineRefusal
    /// Limits and weights that a deployment may choose; the same for every aggregate.
    associatedtype Policy: Sendable

    /// The version of the stored form. Each change of the form needs a new version. Programs refuse states of a newer
    /// version and upgrade older ones.
    static var version: Int { get }
    /// Upgrades a state from an older stored form, without the log. It must read every form back to version 1, because
    /// retention drops old events. It must not change ``heldMoments``. Returns nil if it can't read the form.
    static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<Self>?
    /// The types of other services' events that it takes as input.
    static var follows: Set<String> { get }
    /// The newest version that it understands of a type that it follows, where that is not 1. Events of a newer one are left to
    /// the next release: they stop this one.
    static var newestVersions: [String: Int] { get }

    /// Decides what follows from one input, by emitting events into the decision. Throwing drops everything emitted.
    static func decide(_ input: Input<Command>, _ decision: inout Decision<Self>) throws(Refusal)

    /// Whether it sets limits that those outside must keep by calling the service. Where it does, it is told of outages; false
    /// by default.
    static var ownsLimits: Bool { get }

    /// Decides what follows from an outage of the service, which ends at the decision's moment. Everything up to its beginning
    /// has happened: all limits that are in the state now ran when it began. Does nothing by default.
    static func note(_ outage: Outage, _ decision: inout Decision<Self>)

    /// Takes in one of its own events. Total: never fails.
    mutating func apply(_ event: OwnEvent, at time: Instant)

    /// The earliest moment at which time itself is an input; nil when there is none.
    var nextDeadline: Instant? { get }

    /// Whether its aggregates hold moments that no other one may hold; false by default.
    static var holdsMoments: Bool { get }
    /// At most so many of the moments that aggregates hold lie within any second, over the whole suite: from 1 to 1,000; nil
    /// where that does not matter.
    static func ceiling(_ policy: Policy) -> Int?
    /// The moments to come that it holds; decisions find free ones in ``Decision/moments``.
    var heldMoments: [HeldMoment] { get }
}

/// The reason why a machine refuses an input. A refusal changes nothing.
public protocol MachineRefusal: Error, Sendable {
    /// The reason why another service's event can't be read; nil if the machine read it and its rules refuse it.
    ///
    /// A refused event changes nothing. An unreadable event might have changed something. So the runtime parks its
    /// device, or halts if a newer program wrote the event.
    var unreadable: ContractError? { get }
}

extension Machine {
    /// The service's name: event source, consumer and database schema.
    public static var name: String { OwnEvent.source }
    public static var newestVersions: [String: Int] { [:] }
    public static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<Self>? { nil }
    public static var holdsMoments: Bool { false }
    public static func ceiling(_ policy: Policy) -> Int? { nil }
    public var heldMoments: [HeldMoment] { [] }
}

/// Something to decide about.
public enum Input<Command: Sendable>: Sendable {
    /// From a REST call.
    case command(Command)
    /// Another service's event, one of ``Machine/follows``.
    case event(Event)
    /// The moment that ``Machine/nextDeadline`` named has come.
    case deadline(Instant)
}

/// One decision under way: the state that the emitted events lead to, the events, and what they may draw on.
public struct Decision<M: Machine>: Sendable {
    public let key: AggregateKey
    /// The moment of the decision. Never earlier than that of the aggregate's former decision.
    public let now: Instant
    public let policy: M.Policy
    /// The state with everything emitted so far applied.
    public private(set) var state: M
    public private(set) var events: [M.OwnEvent] = []
    /// What all aggregates of the partition hold, this one too: an input like any other, and what the decision makes of it is in
    /// its events.
    public internal(set) var moments = MomentLedger(ceiling: nil)
    /// What ``state`` holds, once that was asked.
    private var held: [HeldMoment]?
    private var identifiers: DecisionIdentifiers

    init(key: AggregateKey, now: Instant, policy: M.Policy, state: M, inputID: UUID) {
        self.key = key
        self.now = now
        self.policy = policy
        self.state = state
        identifiers = DecisionIdentifiers(seed: inputID)
    }

    /// Emits an event: it is applied to ``state`` at once.
    public mutating func emit(_ event: M.OwnEvent) {
        guard moments.ceiling != nil else {
            state.apply(event, at: now)
            return events.append(event)
        }
        let former = held ?? state.heldMoments
        state.apply(event, at: now)
        let latter = state.heldMoments
        moments.replace(former, by: latter, at: now)
        held = latter
        events.append(event)
    }

    /// A new identifier, a UUIDv7 as text; the same whenever the same input is decided again.
    public mutating func identifier() -> String { identifiers.uuid(at: now).lowercased }
    /// A uniform number of 64 bits; the same whenever the same input is decided again.
    public mutating func randomNumber() -> UInt64 { identifiers.number() }

    mutating func eventID() -> UUID { identifiers.uuid(at: now) }
}
