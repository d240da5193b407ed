import OrderedCollections
import Records
import Reports
import Scenarios
import Timeline

/// The figures of an app in a snapshot.
struct StoredAppFigures: Record {
    var contentAges: [Interval] = []
    var contents: OrderedDictionary<String, StoredPushFigures> = [:]
    var crashes = 0
    var kills: OrderedDictionary<String, Int> = [:]
    var refreshes: [Interval] = []
    var transfers: [Interval] = []
    var transfersStarted = 0
    var wakes: OrderedDictionary<String, Int> = [:]
    var wakesRefused: OrderedDictionary<String, Int> = [:]
}

/// The figures of pushes in a snapshot.
struct StoredPushFigures: Record {
    var delays: [Interval] = []
    var delivered = 0
    var doubled = 0
    var late: OrderedDictionary<String, Int> = [:]
    var never: OrderedDictionary<String, Int> = [:]
    var refused: OrderedDictionary<String, Int> = [:]
    var sent = 0
    var withoutToken = 0
    var worst: [PushHistory] = []
}

/// The figures of a partition in a snapshot.
struct StoredFigures: Record {
    var apps: [StoredAppFigures] = []
    var bytes: OrderedDictionary<String, Int> = [:]
    var energy = 0
    var openings: [Int] = []
    var refreshesByHour: [Int] = []
    var refusedCalls: OrderedDictionary<String, Int> = [:]
    /// Milliseconds by state and step.
    var states: [[Int]] = []
}

extension StoredFigures {
    init(_ figures: Figures) {
        self.init()
        apps = figures.apps.map { StoredAppFigures($0) }
        bytes = OrderedDictionary(sorting: figures.bytes)
        energy = figures.energy
        openings = figures.openings
        refreshesByHour = figures.refreshesByHour
        refusedCalls = OrderedDictionary(sorting: figures.refusedCalls)
        states = figures.states.milliseconds
    }

    /// Restores the figures.
    func restore(_ figures: inout Figures) throws(SnapshotError) {
        guard apps.count == figures.apps.count, openings.count == 24, refreshesByHour.count == 24 else {
            throw .malformed
        }
        for (index, app) in apps.enumerated() { figures.apps[index] = try app.figures }
        figures.bytes = bytes.counts
        figures.energy = energy
        figures.openings = openings
        figures.refreshesByHour = refreshesByHour
        figures.refusedCalls = refusedCalls.counts
        guard figures.states.restore(states) else { throw .malformed }
    }
}

extension StoredAppFigures {
    fileprivate init(_ figures: AppFigures) {
        self.init()
        contentAges = figures.contentAges
        for content in Send.Content.allCases {
            contents[content.rawValue] = figures.contents[content].map { StoredPushFigures($0) }
        }
        crashes = figures.crashes
        kills = OrderedDictionary(sorting: figures.kills)
        refreshes = figures.refreshes
        transfers = figures.transfers
        transfersStarted = figures.transfersStarted
        wakes = OrderedDictionary(sorting: figures.wakes)
        wakesRefused = OrderedDictionary(sorting: figures.wakesRefused)
    }

    fileprivate var figures: AppFigures {
        get throws(SnapshotError) {
            var figures = AppFigures()
            figures.contentAges = contentAges
            for (name, pushes) in contents {
                guard let content = Send.Content(rawValue: name) else { throw .malformed }
                figures.contents[content] = pushes.figures
            }
            figures.crashes = crashes
            figures.kills = kills.counts
            figures.refreshes = refreshes
            figures.transfers = transfers
            figures.transfersStarted = transfersStarted
            figures.wakes = wakes.counts
            figures.wakesRefused = wakesRefused.counts
            return figures
        }
    }
}

extension StoredPushFigures {
    fileprivate init(_ figures: PushFigures) {
        self.init()
        (sent, delivered, doubled, withoutToken) =
            (figures.sent, figures.delivered, figures.doubled, figures.withoutToken)
        delays = figures.delays
        late = OrderedDictionary(sorting: figures.late)
        never = OrderedDictionary(sorting: figures.never)
        refused = OrderedDictionary(sorting: figures.refused)
        worst = figures.worst.all
    }

    fileprivate var figures: PushFigures {
        var figures = PushFigures()
        (figures.sent, figures.delivered, figures.doubled, figures.withoutToken) =
            (sent, delivered, doubled, withoutToken)
        figures.delays = delays
        figures.late = late.counts
        figures.never = never.counts
        figures.refused = refused.counts
        for push in worst { figures.worst.add(push) }
        return figures
    }
}

extension OrderedDictionary<String, Int> {
    fileprivate var counts: [String: Int] { Dictionary(uniqueKeysWithValues: map { ($0.key, $0.value) }) }
}
