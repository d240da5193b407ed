public import Contracts
public import Foundation
public import Records
public import Timeline

/// The rules and the state of one service for one aggregate, as a pure value.
///
/// A machine has no I/O, no clock, no random source and no iteration over unordered collections. Floating point uses +
/// − × ÷ √ only. The same inputs give the same events, byte for byte, on every computer. The state is the fold of the
/// machine's own events.
public protocol Machine: Record {
    /// A call from outside the suite.
    associatedtype Command: Sendable
    /// The events of this service.
    associatedtype OwnEvent: EventFamily
    /// The reasons to refuse an input.
    associatedtype Refusal: MachineRefusal
    /// The limits and weights of a deployment, the same for every aggregate.
    associatedtype Policy: Sendable

    /// The version of the stored form. Each change of the form needs a new version. Programs refuse states of a newer
    /// version and upgrade older ones.
    static var version: Int { get }
    /// Upgrades a state from an older stored form, without the log. It must read every form back to version 1, because
    /// retention drops old events. It must not change ``reservedSlots``. Returns nil if it can't read the form.
    static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<Self>?
    /// Returns the state in the stored form of an older version, which older programs read while they run beside this
    /// one, and after a rollback. It may leave out what the older machine does not know. An older machine that finds an
    /// own deadline in the past fires it at the next input.
    ///
    /// Returns nil if the older form can't express the state. The state is then written in the newer form, and older
    /// programs refuse requests for this aggregate with 503. Nil by default.
    func downgraded(to version: Int) -> OlderForm?
    /// The event types of other services that are inputs.
    static var follows: Set<String> { get }
    /// The newest known versions of followed types; 1 if missing. An event of a newer version halts the partition until
    /// an update.
    static var newestVersions: [String: Int] { get }

    /// Decides one input by emitting events into the decision. A thrown refusal discards all of them. An event of another
    /// service is refused before the first event: a decision in place keeps no former state for it.
    static func decide(_ input: Input<Command>, _ decision: inout Decision<Self>) throws(Refusal)

    /// Whether clients must call the service within limits of the machine. Such a machine is notified of outages. False
    /// by default.
    static var ownsLimits: Bool { get }

    /// Decides the effects of an outage that ends at the decision's time. All deadlines before its start have fired, so
    /// all limits in the state were running when it began. Does nothing by default.
    static func note(_ outage: Outage, _ decision: inout Decision<Self>)

    /// Applies one of the machine's own events. It never fails.
    mutating func apply(_ event: OwnEvent, at time: Instant)

    /// The earliest time at which the machine decides without another input; nil if there is none.
    var nextDeadline: Instant? { get }

    /// The most reserved slots in a second over the whole suite, from 1 to 1,000; nil without a limit.
    static func ceiling(_ policy: Policy) -> Int?
    /// The future slots that this aggregate has reserved. ``Decision/slots`` finds free ones.
    var reservedSlots: [ReservedSlot] { get }
}

extension Machine {
    /// The state of an aggregate without events.
    public init() { self = .placeholder }

    /// The service's name: event source, consumer and database schema.
    public static var name: String { OwnEvent.source }
    public static var newestVersions: [String: Int] { [:] }
    public static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<Self>? { nil }
    public func downgraded(to version: Int) -> OlderForm? { nil }
    public static func ceiling(_ policy: Policy) -> Int? { nil }
    public var reservedSlots: [ReservedSlot] { [] }
}

/// An input of a machine.
public enum Input<Command: Sendable>: Sendable {
    /// A call from outside the suite.
    case command(Command)
    /// An event of another service, with a type in ``Machine/follows``.
    case event(Event)
    /// The time of ``Machine/nextDeadline`` has come.
    case deadline(Instant)

    /// Whether it is an event of another service.
    @usableFromInline var isEvent: Bool { if case .event = self { true } else { false } }
}

/// A decision in progress: the current state, the emitted events, and the sources of ids and slots.
public struct Decision<M: Machine>: Sendable {
    /// The aggregate.
    public let key: AggregateKey
    /// The time of the decision, never earlier than that of the aggregate's previous decision.
    public let now: Instant
    /// The deployment's limits.
    public let policy: M.Policy
    /// The state after all events emitted so far.
    @inlinable public var state: M { _read { yield currentState } }
    /// The events emitted so far.
    @inlinable public var events: [M.OwnEvent] { emitted }
    /// The slot reservations of the partition. They are an input of the decision, and its events record its own
    /// reservations.
    @inlinable public var slots: SlotAllocator { _read { yield reservations } }

    @usableFromInline var currentState: M
    @usableFromInline var emitted: [M.OwnEvent] = []
    @usableFromInline var reservations = SlotAllocator(ceiling: nil)
    /// The reservations in ``state``; nil until computed.
    @usableFromInline var held: [ReservedSlot]?
    /// The sources of ids; nil until one is needed.
    @usableFromInline var identifiers: DecisionIdentifiers?
    private let inputID: UUID
    private let follows: Bool

    /// - Parameter follows: whether the input is an event of another service.
    @usableFromInline
    init(key: AggregateKey, now: Instant, policy: M.Policy, state: M, inputID: UUID, follows: Bool = false) {
        self.key = key
        self.now = now
        self.policy = policy
        currentState = state
        self.inputID = inputID
        self.follows = follows
    }

    /// Emits an event and applies it to ``state``.
    @inlinable public mutating func emit(_ event: M.OwnEvent) {
        guard reservations.ceiling != nil else {
            currentState.apply(event, at: now)
            return emitted.append(event)
        }
        let former = held ?? currentState.reservedSlots
        currentState.apply(event, at: now)
        let latter = currentState.reservedSlots
        reservations.replace(former, by: latter, at: now)
        held = latter
        emitted.append(event)
    }

    /// Changes members of an emitted event that ``Machine/apply(_:at:)`` does not use.
    @inlinable public mutating func revise(_ index: Int, _ change: (inout M.OwnEvent) -> Void) {
        change(&emitted[index])
    }

    /// Returns a new UUIDv7 as text. A repeated decision of the same input gets the same one.
    public mutating func identifier() -> String { eventID().lowercased }
    /// Returns a uniform 64-bit number. A repeated decision of the same input gets the same one.
    public mutating func randomNumber() -> UInt64 {
        prepareIdentifiers()
        return identifiers!.number()
    }

    @usableFromInline mutating func eventID() -> UUID {
        prepareIdentifiers()
        return identifiers!.uuid(at: now)
    }

    /// Several machines follow one event. Each has its own seed, so that their events have different ids.
    private mutating func prepareIdentifiers() {
        guard identifiers == nil else { return }
        identifiers = DecisionIdentifiers(
            seed: follows ? DecisionIdentifiers.derived(M.name, following: inputID) : inputID)
    }
}
