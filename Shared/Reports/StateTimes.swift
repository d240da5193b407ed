public import Contracts
import OrderedCollections
public import Timeline

/// The time that all apps spent in each state, in steps of equal length.
public struct StateTimes: Sendable {
    /// The states from the bottom of the chart to its top.
    private static let states: [AppState] = [.active, .inactive, .background, .suspended, .notRunning]
    /// The most steps of a chart.
    private static let mostSteps: Int64 = 168

    private let begin: Instant
    /// Milliseconds of a step: a whole number of ten minutes.
    private let step: Int64
    /// Milliseconds by state and step.
    private var times: [[Int64]]

    /// Creates the steps of a time range.
    public init(from begin: Instant, until end: Instant) {
        self.begin = begin
        let unit = Interval.minutes(10).milliseconds
        let length = max(1, (end - begin).milliseconds)
        let units = (length + unit - 1) / unit
        step = max(1, (units + Self.mostSteps - 1) / Self.mostSteps) * unit
        times = Array(repeating: Array(repeating: 0, count: Int((length + step - 1) / step)), count: Self.states.count)
    }

    /// Adds the time that an app spent in a state. Time outside of the range is left out.
    public mutating func add(_ state: AppState, from start: Instant, until end: Instant) {
        guard let row = Self.states.firstIndex(of: state) else { return }
        var time = max(0, (start - begin).milliseconds)
        let last = min((end - begin).milliseconds, step * Int64(times[row].count))
        while time < last {
            let index = time / step
            let next = min(last, (index + 1) * step)
            times[row][Int(index)] += next - time
            time = next
        }
    }

    /// Adds the times of other apps in the same range.
    public mutating func add(_ other: StateTimes) {
        for row in times.indices { for index in times[row].indices { times[row][index] += other.times[row][index] } }
    }

    /// Milliseconds by state and step.
    public var milliseconds: [[Int]] { times.map { $0.map { Int($0) } } }

    /// Restores ``milliseconds``.
    ///
    /// - Returns: false if the number of states or steps differs.
    public mutating func restore(_ milliseconds: [[Int]]) -> Bool {
        guard milliseconds.map(\.count) == times.map(\.count) else { return false }
        times = milliseconds.map { $0.map { Int64($0) } }
        return true
    }

    /// The times in seconds.
    public var history: StateHistory {
        var history = StateHistory()
        history.stepSeconds = Int(step / 1000)
        for (state, times) in zip(Self.states, times) {
            history.seconds[state.rawValue] = times.map { Int(($0 + 500) / 1000) }
        }
        return history
    }
}
