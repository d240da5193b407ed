public import Records
import Timeline

/// When the user opens an app: a histogram by hour of week that forgets a quarter every week. Weights are relative to one another:
/// where one gets too large, all are halved.
public struct UsageProfile: Record, Equatable {
    private var weights = HourWeights()
    /// The week of the last opening, counted from 1970.
    private var week = 0
    /// How often the weights were halved, and not doubled since.
    private var halvings = 0

    /// What one opening adds, before any halving.
    static let opening = 32
    static let most = 255
    public static let hoursOfWeek = 168

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("halvings", &halvings)
        fields.field("week", &week)
        fields.field("weights", &weights)
    }

    /// One weight an hour, from Monday 00:00 in the device's time zone; empty before the first opening.
    public var hours: [Int] { weights.values }
    public var isLearned: Bool { !weights.values.isEmpty }

    /// Learns that the user opened the app.
    mutating func learn(hour: Int, at time: Instant) {
        if weights.values.isEmpty { weights.values = Array(repeating: 0, count: Self.hoursOfWeek) }
        let now = Int(time.milliseconds / Interval.days(7).milliseconds)
        // After 32 weeks of three quarters nothing of a weight is left that matters.
        for _ in 0..<min(32, max(0, now - week)) where week > 0 { forget() }
        week = max(week, now)
        guard weights.values.indices.contains(hour) else { return }
        weights.values[hour] += max(1, Self.opening >> halvings)
        guard weights.values[hour] > Self.most else { return }
        weights.values = weights.values.map { $0 / 2 }
        halvings += 1
    }

    private mutating func forget() {
        weights.values = weights.values.map { $0 * 3 / 4 }
        guard halvings > 0, peak * 2 <= Self.most else { return }
        weights.values = weights.values.map { $0 * 2 }
        halvings -= 1
    }

    /// The weight of the likeliest hour; 0 before the first opening.
    var peak: Int { weights.values.max() ?? 0 }

    /// The hour of the week, from Monday 00:00, that a moment falls into.
    static func hourOfWeek(_ moment: Instant, offset seconds: Int) -> Int {
        let local = moment + .seconds(Int64(seconds))
        // 1970-01-01 was a Thursday, three days into its week.
        let hours = local.milliseconds / Interval.hours(1).milliseconds + 72
        return Int(hours % Int64(hoursOfWeek))
    }
}

/// Weights from 0 to 255, one an hour of the week, or none at all. Most hours of most apps have none: runs of them take two bytes.
struct HourWeights: Value, Equatable {
    var values: [Int] = []

    static var placeholder: HourWeights { HourWeights() }
    static var schema: JSON { ["type": "array", "items": ["type": "integer"]] }

    func write(to binary: inout BinaryWriter) {
        binary.append(values.isEmpty ? 0 : 1)
        var index = 0
        while index < values.count {
            binary.append(UInt8(clamping: values[index]))
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
            let value = Int(binary.byte())
            let count = value == 0 ? Int(binary.byte()) : 1
            guard count > 0, weights.values.count + count <= UsageProfile.hoursOfWeek else {
                binary.fail()
                return HourWeights()
            }
            weights.values += Array(repeating: value, count: count)
        }
        return weights
    }

    func write(to json: inout JSONWriter) { values.write(to: &json) }

    static func read(_ json: JSON, _ reader: inout JSONReader) -> HourWeights? {
        [Int].read(json, &reader).map(HourWeights.init(values:))
    }
}
