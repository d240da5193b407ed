public import Records
import Timeline

/// A histogram of the openings of an app by hour of the week. It loses a quarter of its weight every week.
///
/// The weights are relative: when one gets too large, all are halved.
public struct UsageProfile: Record, Equatable {
    /// The number of times that the weights were halved and not doubled since.
    var halvings = 0
    /// The week of the last opening, counted from 1970.
    var week = 0
    var weights = HourWeights()

    /// The weight of one opening before any halving.
    static let opening = 32
    static let most = 255
    /// The number of hours in a week.
    public static let hoursOfWeek = 168

    /// The weight of each hour from Monday 00:00 local time; empty before the first opening.
    public var hours: [Int] { weights.values.map(Int.init) }
    /// Whether the user has opened the app.
    public var isLearned: Bool { !weights.values.isEmpty }

    /// Adds an opening of the app.
    mutating func learn(hour: Int, at time: Instant) {
        if weights.values.isEmpty { weights.values = Array(repeating: 0, count: Self.hoursOfWeek) }
        let now = Int(time.milliseconds / Interval.days(7).milliseconds)
        // After 32 weeks of decay a weight is negligible.
        for _ in 0..<min(32, max(0, now - week)) where week > 0 { forget() }
        week = max(week, now)
        guard weights.values.indices.contains(hour) else { return }
        var weight = Int(weights.values[hour]) + max(1, Self.opening >> halvings)
        if weight > Self.most {
            weights.values = weights.values.map { $0 / 2 }
            halvings += 1
            weight /= 2
        }
        weights.values[hour] = UInt8(clamping: weight)
    }

    private mutating func forget() {
        weights.values = weights.values.map { UInt8(Int($0) * 3 / 4) }
        guard halvings > 0, peak * 2 <= Self.most else { return }
        weights.values = weights.values.map { $0 * 2 }
        halvings -= 1
    }

    /// The weight of the likeliest hour; 0 before the first opening.
    var peak: Int { Int(weights.values.max() ?? 0) }
    /// The number of openings behind the profile. Older ones count less.
    var openings: Int {
        let sum = weights.values.reduce(0) { $0 + Int($1) }
        // Each 128 openings in an hour of the week halve the weights, without a limit. A shift by more than 32 could
        // overflow, and 32 halvings give more openings than any rule compares.
        return sum << min(max(0, halvings), 32) / Self.opening
    }
    /// Returns the weight of an hour of the week.
    func weight(_ hour: Int) -> Int { Int(weights.values[hour]) }

    /// Returns the hour of the week of an instant, from Monday 00:00.
    static func hourOfWeek(_ moment: Instant, offset seconds: Int) -> Int {
        let local = moment + .seconds(Int64(seconds))
        // 1970-01-01 was a Thursday, three days into its week.
        let hours = local.milliseconds / Interval.hours(1).milliseconds + 72
        return Int(hours % Int64(hoursOfWeek))
    }
}

/// The weights of all hours of the week, or none. Most weights are 0, so a run of zeros takes two bytes.
struct HourWeights: Value, Equatable {
    var values: [UInt8] = []

    static var placeholder: HourWeights { HourWeights() }
    static var schema: JSON { ["type": "array", "items": ["type": "integer"]] }

    func write(to binary: inout BinaryWriter) {
        binary.append(values.isEmpty ? 0 : 1)
        var index = 0
        while index < values.count {
            binary.append(values[index])
            let next = values[index...].firstIndex { $0 != values[index] } ?? values.count
            if values[index] == 0 {
                binary.append(UInt8(next - index))
                index = next
            } else {
                index += 1
            }
        }
    }

    static func read(from binary: inout BinaryReader) -> HourWeights {
        var weights = HourWeights()
        guard binary.byte() != 0 else { return weights }
        while weights.values.count < UsageProfile.hoursOfWeek {
            let value = binary.byte()
            let count = value == 0 ? Int(binary.byte()) : 1
            guard count > 0, weights.values.count + count <= UsageProfile.hoursOfWeek else {
                binary.fail()
                return HourWeights()
            }
            weights.values += Array(repeating: value, count: count)
        }
        return weights
    }

    func write(to json: inout JSONWriter) { values.map(Int.init).write(to: &json) }

    static func read(_ json: JSON, _ reader: inout JSONReader) -> HourWeights? {
        [Int].read(json, &reader).map { HourWeights(values: $0.map(UInt8.init(clamping:))) }
    }
}
