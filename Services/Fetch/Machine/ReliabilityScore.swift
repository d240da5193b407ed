import Contracts
public import Records
public import Timeline

/// The reliability of an app's refreshes (Apple, WWDC20 session 10063: elapsed time and data determine the cost of a refresh,
/// accurate results the prediction). The weights are our choice.
public struct ReliabilityScore: Record, Equatable {
    /// The reliability score from 0 to 1000, in which recent refreshes count most. An app begins with 500.
    public var value: Int = Self.middle
    /// The share of recent refreshes with new data, in thousandths.
    public var newDataShare: Int = Self.middle
    /// The number of refreshes behind these values, counted up to ``enough``.
    public var refreshes = 0

    public static let middle = 500
    static let enough = 16

    /// Updates the values with a refresh. A refresh that never began does not count.
    mutating func learn(_ result: FetchResult, elapsed: Interval, bytesReceived: Int?) {
        guard let worth = Self.worth(result, elapsed, bytesReceived) else { return }
        value += (worth - value) / 8
        let isNew = result == .newData && bytesReceived != 0
        newDataShare += ((isNew ? 1000 : 0) - newDataShare) / 8
        refreshes = min(Self.enough, refreshes + 1)
    }

    /// Returns the value of a refresh from 0 to 1000; nil if it never began.
    private static func worth(_ result: FetchResult, _ elapsed: Interval, _ bytesReceived: Int?) -> Int? {
        /// Returns the loss for the elapsed time, which is `most` at the limit of a handler. The log outlives the file
        /// of a deployment, so the fold of events uses the table without overrides.
        let limit = Generations.standard[.ios18][.fetchHandler].milliseconds
        func less(_ most: Int) -> Int { Int(min(limit, max(0, elapsed.milliseconds))) * most / Int(limit) }
        switch result {
        // The device loaded no bytes, so the data can't be new.
        case .newData where bytesReceived == 0: return 300 - less(300)
        case .newData: return 1000 - less(700)
        case .noData: return 300 - less(300)
        case .failed: return 100 - less(100)
        case .timedOut: return 0
        case .refused: return nil
        }
    }

    /// Returns the effective interval, which is half of `effectiveInterval` at best and eight times at worst.
    func effectiveInterval(_ effectiveInterval: Interval) -> Interval {
        value < Self.middle
            ? minimumGap(effectiveInterval)
            : Interval(milliseconds: effectiveInterval.milliseconds * Int64(1000 + Self.middle - value) / 1000)
    }

    /// Returns the minimum gap between two refreshes: the floor, or up to eight times as much for a low score.
    public func minimumGap(_ floor: Interval) -> Interval {
        let lacking = Int64(max(0, Self.middle - value))
        return Interval(milliseconds: floor.milliseconds + floor.milliseconds * 7 * lacking / Int64(Self.middle))
    }
}

/// The age of the content when the user opened the app. Background refreshes exist to keep it low.
public struct ContentAges: Record, Equatable {
    var count = 0
    /// The age at the last opening; nil if there was no content.
    public var last: Interval?
    /// The number of openings.
    public var openings = 0
    /// The sum of the ages in milliseconds. After 64 openings the sum and the count are halved.
    var sum = 0
    /// The openings before the first refresh with new data.
    public var withoutContent = 0

    mutating func learn(_ age: Interval?) {
        openings += 1
        last = age
        guard let age else { return withoutContent += 1 }
        if count >= 64 {
            count /= 2
            sum /= 2
        }
        count += 1
        sum += Int(max(.zero, age).milliseconds)
    }

    /// The mean of about the last 64 openings with content; nil before the first.
    public var mean: Interval? { count > 0 ? .milliseconds(Int64(sum / count)) : nil }
    /// The number of openings behind the mean.
    var known: Int { count }
}
