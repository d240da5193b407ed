import Contracts
public import Records
public import Timeline

/// What an app's refreshes have earned it (Apple, WWDC20 session 10063: elapsed time and data feed the cost of a refresh, an
/// accurate result the prediction). How much each counts is our choice.
public struct Standing: Record, Equatable {
    /// From 0 to 1000: the latest refreshes count most. An app begins in the middle.
    public var merit = Self.middle
    /// How many of the latest refreshes found new data, in thousandths.
    public var newDataShare = Self.middle
    /// How many refreshes that is known from; counted up to ``enough``.
    public var refreshes = 0

    static let middle = 500
    static let enough = 16

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("merit", &merit)
        fields.field("newDataShare", &newDataShare)
        fields.field("refreshes", &refreshes)
    }

    /// Takes in a refresh that began.
    mutating func learn(_ result: FetchResult, elapsed: Interval, bytesReceived: Int?) {
        guard let worth = Self.worth(result, elapsed, bytesReceived) else { return }
        merit += (worth - merit) / 8
        let isNew = result == .newData && bytesReceived != 0
        newDataShare += ((isNew ? 1000 : 0) - newDataShare) / 8
        refreshes = min(Self.enough, refreshes + 1)
    }

    /// From 0 to 1000; nil for what never began.
    private static func worth(_ result: FetchResult, _ elapsed: Interval, _ bytesReceived: Int?) -> Int? {
        /// What is lost in the 30 s that there are.
        func less(_ most: Int) -> Int { Int(min(30_000, max(0, elapsed.milliseconds))) * most / 30_000 }
        switch result {
        // Nothing was loaded, so the data can't be new.
        case .newData where bytesReceived == 0: return 300 - less(300)
        case .newData: return 1000 - less(700)
        case .noData: return 300 - less(300)
        case .failed: return 100 - less(100)
        case .timedOut: return 0
        case .refused: return nil
        }
    }

    /// How an app's pace follows from it: half of it at best, eight times at worst.
    func pace(_ pace: Interval) -> Interval {
        merit < Self.middle
            ? pause(pace) : Interval(milliseconds: pace.milliseconds * Int64(1000 + Self.middle - merit) / 1000)
    }

    /// The least time between two refreshes: the floor, or up to eight times as much for those that earn little.
    public func pause(_ floor: Interval) -> Interval {
        let lacking = Int64(max(0, Self.middle - merit))
        return Interval(milliseconds: floor.milliseconds + floor.milliseconds * 7 * lacking / Int64(Self.middle))
    }
}

/// How old the content was when the user opened the app: what background refreshes exist to keep low.
public struct ContentAges: Record, Equatable {
    public var openings = 0
    /// Openings before the first refresh with new data.
    public var withoutContent = 0
    public var last: Interval?
    /// Of the openings with content, in milliseconds, halved with their number before it gets long.
    private var sum = 0
    private var count = 0

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("count", &count)
        fields.omittable("last", &last)
        fields.field("openings", &openings)
        fields.field("sum", &sum)
        fields.field("withoutContent", &withoutContent)
    }

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

    /// The mean over about the last 64 openings; nil before the first with content.
    public var mean: Interval? { count > 0 ? .milliseconds(Int64(sum / count)) : nil }
    /// How many openings the mean is known from.
    var known: Int { count }
}
