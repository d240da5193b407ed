import Contracts
import Records
import Reports
import Scenarios
import Timeline

/// The payload of a send.
struct JSONPayload: Sendable { let document: JSON }

/// The counts of a simulation. Sums of partitions do not depend on their order.
struct Figures: Sendable {
    /// The figures of each app.
    var apps: [AppFigures]
    /// Calls of the device that a machine refused, by code.
    var refusedCalls: [String: Int] = [:]
    /// Moved bytes by network.
    var bytes: [String: Int] = [:]
    /// Openings and completed refreshes by the hour of the device's day.
    var openings = Array(repeating: 0, count: 24)
    var refreshesByHour = Array(repeating: 0, count: 24)
    /// The energy of refreshes and tasks, in millijoules.
    var energy = 0
    var states: StateTimes

    subscript(app: Int) -> AppFigures {
        get { apps[app] }
        _modify { yield &apps[app] }
    }

    /// Adds bytes that a network moved, by the name of its speed.
    mutating func addBytes(_ count: Int, in network: Network) {
        guard count > 0 else { return }
        bytes[NetworkText.Word(network).rawValue, default: 0] += count
    }

    mutating func add(_ other: Figures) {
        for index in apps.indices { apps[index].add(other.apps[index]) }
        refusedCalls.merge(other.refusedCalls, uniquingKeysWith: +)
        bytes.merge(other.bytes, uniquingKeysWith: +)
        for hour in 0..<24 {
            openings[hour] += other.openings[hour]
            refreshesByHour[hour] += other.refreshesByHour[hour]
        }
        energy += other.energy
        states.add(other.states)
    }
}

/// The figures of an app.
struct AppFigures: Sendable {
    var contents: [Send.Content: PushFigures] = [:]
    /// The ages of the content at openings.
    var contentAges: [Interval] = []
    /// The times from due to completion of refreshes that completed.
    var refreshes: [Interval] = []
    /// The wakes by kind.
    var wakes: [String: Int] = [:]
    var wakesRefused: [String: Int] = [:]
    /// The ends of processes by the system, by code or reason.
    var kills: [String: Int] = [:]
    /// The crashes of processes.
    var crashes = 0
    /// The times from creation to completion of transfers without an error.
    var transfers: [Interval] = []
    var transfersStarted = 0

    subscript(content: Send.Content) -> PushFigures {
        get { contents[content] ?? PushFigures() }
        _modify { yield &contents[content, default: PushFigures()] }
    }

    mutating func add(_ other: AppFigures) {
        for (content, figures) in other.contents { self[content].add(figures) }
        crashes += other.crashes
        contentAges += other.contentAges
        refreshes += other.refreshes
        wakes.merge(other.wakes, uniquingKeysWith: +)
        wakesRefused.merge(other.wakesRefused, uniquingKeysWith: +)
        kills.merge(other.kills, uniquingKeysWith: +)
        transfers += other.transfers
        transfersStarted += other.transfersStarted
    }
}

/// The figures of pushes with one kind of content.
struct PushFigures: Sendable {
    var sent = 0
    /// Sends without a device token. They are no pushes.
    var withoutToken = 0
    /// Copies that the fault `doubledPushes` added. They are not in ``sent``.
    var doubled = 0
    /// Pushes that were delivered to the device at least once.
    var delivered = 0
    /// The delays of those that arrived, from the sending to the arrival.
    var delays: [Interval] = []
    /// Those that arrived late, by what they waited for last.
    var late: [String: Int] = [:]
    /// Those that never arrived, by reason.
    var never: [String: Int] = [:]
    /// Those that the push service refused, by code.
    var refused: [String: Int] = [:]
    var worst = WorstPushes()

    /// Whether each sent push has one outcome: it arrived, never arrived or was refused.
    var isBalanced: Bool {
        sent == delays.count + never.values.reduce(0, +) + refused.values.reduce(0, +)
    }

    mutating func add(_ other: PushFigures) {
        sent += other.sent
        withoutToken += other.withoutToken
        doubled += other.doubled
        delivered += other.delivered
        delays += other.delays
        late.merge(other.late, uniquingKeysWith: +)
        never.merge(other.never, uniquingKeysWith: +)
        refused.merge(other.refused, uniquingKeysWith: +)
        worst.add(other.worst)
    }
}
