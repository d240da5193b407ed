import OrderedCollections
public import Records
import Timeline

/// Two reports side by side: the figures, the largest differences first, and sentences about the causes.
public struct Comparison: Record, Equatable {
    public var figures: [ComparedFigure] = []
    /// The names of the two reports.
    public var first = ""
    public var second = ""
    /// The differences of the second report with their reasons. The most important ones come first.
    public var sentences: [String] = []

    public init() {}

    /// Compares two reports.
    ///
    /// - Parameters:
    ///   - first: the report to start from, with its name.
    ///   - second: the report whose differences the sentences state, with its name.
    public init(_ first: (name: String, report: Report), _ second: (name: String, report: Report)) {
        self.first = first.name
        self.second = second.name
        figures = ComparedFigure.all(first.report, second.report)
        // Figures without a difference keep their order.
        figures = figures.enumerated().sorted { one, other in
            (-one.element.weight, one.offset) < (-other.element.weight, other.offset)
        }.map(\.element)
        sentences = Differences(first, second).sentences
    }

    /// Whether all figures are equal.
    public var isEqual: Bool { figures.allSatisfy { $0.first == $0.second } }
}

/// The unit of a figure.
public enum FigureUnit: String, WireEnum {
    case count
    /// A share of sent pushes, from 0 to 1.
    case share
    case seconds, bytes, joules
}

/// A figure of two reports.
public struct ComparedFigure: Record, Equatable {
    /// Nil for a figure of all apps.
    public var app: String?
    /// The content of pushes; nil for other figures.
    public var content: String?
    /// The value in the first report; nil if it has none.
    public var first: Double?
    public var name = ""
    /// The value in the second report; nil if it has none.
    public var second: Double?
    public var unit = FigureUnit.count

    public init() {}

    init(
        _ name: String, _ unit: FigureUnit, app: String? = nil, content: String? = nil, _ first: Double?,
        _ second: Double?
    ) {
        (self.name, self.unit, self.app, self.content) = (name, unit, app, content)
        (self.first, self.second) = (first, second)
    }

    /// The second value minus the first one; nil if a report has none.
    public var difference: Double? { first.flatMap { first in second.map { $0 - first } } }

    /// The difference as a part of the first value; nil if it is 0 or missing.
    public var change: Double? {
        difference.flatMap { difference in first.flatMap { $0 == 0 ? nil : difference / $0 } }
    }

    /// The importance of the difference, from 0 to 1. A share of pushes counts by its points, and all others by the
    /// greater value.
    var weight: Double {
        switch (first, second) {
        case (nil, nil): return 0
        case (let first?, let second?):
            guard unit != .share else { return abs(second - first) }
            let greater = max(abs(first), abs(second))
            return greater == 0 ? 0 : abs(second - first) / greater
        default: return 1
        }
    }

    /// Returns the figures of two reports, in the order of a report.
    static func all(_ first: Report, _ second: Report) -> [ComparedFigure] {
        var figures: [ComparedFigure] = []
        for app in names(first.apps.map(\.id), second.apps.map(\.id)) {
            let one = first.apps.first { $0.id == app } ?? AppReport()
            let other = second.apps.first { $0.id == app } ?? AppReport()
            for content in names(one.pushes.map(\.content), other.pushes.map(\.content)) {
                figures += pushes(of: app, content, one, other)
            }
            figures += AppReport.figures.map { name, unit, value in
                ComparedFigure(name, unit, app: app, value(one), value(other))
            }
            for (title, counts) in AppReport.counts {
                for reason in names(Array(counts(one).keys), Array(counts(other).keys)) {
                    figures.append(
                        ComparedFigure(
                            "\(title): \(reason)", .count, app: app, Double(counts(one)[reason] ?? 0),
                            Double(counts(other)[reason] ?? 0)))
                }
            }
        }
        func add(_ name: String, _ unit: FigureUnit, _ value: (Report) -> Int) {
            figures.append(ComparedFigure(name, unit, Double(value(first)), Double(value(second))))
        }
        add("Openings", .count) { $0.openingsByHour.reduce(0, +) }
        for network in names(Array(first.bytes.keys), Array(second.bytes.keys)) {
            add("Bytes over \(network)", .bytes) { $0.bytes[network] ?? 0 }
        }
        add("Energy of refreshes and tasks", .joules) { $0.refreshAndTaskMillijoules / 1000 }
        for state in names(Array(first.states.seconds.keys), Array(second.states.seconds.keys)) {
            add("Time of apps in the state \(state)", .seconds) { $0.states.seconds[state]?.reduce(0, +) ?? 0 }
        }
        add("Events", .count) { $0.events }
        return figures
    }

    private static func pushes(
        of app: String, _ content: String, _ first: AppReport, _ second: AppReport
    ) -> [ComparedFigure] {
        let one = first.pushes.first { $0.content == content } ?? PushReport()
        let other = second.pushes.first { $0.content == content } ?? PushReport()
        func figure(_ name: String, _ unit: FigureUnit, _ value: (PushReport) -> Double?) -> ComparedFigure {
            ComparedFigure(name, unit, app: app, content: content, value(one), value(other))
        }
        var figures = [figure("Sent", .count) { Double($0.sent) }]
        for (name, count) in PushReport.outcomes {
            figures.append(figure(name, .share) { $0.sent > 0 ? Double(count($0)) / Double($0.sent) : nil })
        }
        for percent in [50, 90, 99] {
            figures.append(figure("Delay, p\(percent)", .seconds) { $0.delaySeconds["p\(percent)"]?.seconds })
        }
        for (title, counts) in PushReport.reasons {
            for reason in names(Array(counts(one).keys), Array(counts(other).keys)) {
                figures.append(figure("\(title): \(reason)", .count) { Double(counts($0)[reason] ?? 0) })
            }
        }
        return figures
    }

    /// Returns all names of two lists, those of the first one first.
    static func names(_ first: [String], _ second: [String]) -> [String] { Array(OrderedSet(first).union(second)) }
}

extension PushReport {
    /// The number of pushes that arrived.
    var arrived: Int { inTime + late }

    fileprivate static let outcomes: [(String, @Sendable (PushReport) -> Int)] = [
        ("In time", { $0.inTime }), ("Late", { $0.late }), ("Never", { $0.never.values.reduce(0, +) }),
        ("Refused", { $0.refused.values.reduce(0, +) }),
    ]

    fileprivate static let reasons: [(String, @Sendable (PushReport) -> OrderedDictionary<String, Int>)] = [
        ("Late", { $0.lateReasons }), ("Never", { $0.never }), ("Refused", { $0.refused }),
    ]
}

extension AppReport {
    fileprivate static let figures: [(String, FigureUnit, @Sendable (AppReport) -> Double?)] = [
        ("Content age at opening, p50", .seconds, { $0.contentAgeSeconds["p50"]?.seconds }),
        ("Content age at opening, p90", .seconds, { $0.contentAgeSeconds["p90"]?.seconds }),
        ("Refreshes", .count, { Double($0.refreshes) }),
        ("Refresh time, p90", .seconds, { $0.refreshSeconds["p90"]?.seconds }),
        ("Transfers started", .count, { Double($0.transfersStarted) }),
        ("Transfers completed", .count, { Double($0.transfersCompleted) }),
        ("Transfer time, p90", .seconds, { $0.transferSeconds["p90"]?.seconds }),
        ("Crashes", .count, { Double($0.crashes) }),
    ]

    fileprivate static let counts: [(String, @Sendable (AppReport) -> OrderedDictionary<String, Int>)] = [
        ("Wakes", { $0.wakes }), ("Refused wakes", { $0.wakesRefused }), ("Ended by the system", { $0.kills }),
    ]
}
