public import Timeline

/// The options of a run. Their help texts are in `Main/Options.swift`.
public struct FleetOptions: Sendable, Equatable {
    public var devices = 10
    public var duration = Interval.minutes(10)
    /// The factor by which users are faster than real time.
    public var rate = 1.0
    public var seed: UInt64 = 1
    public var fleet = "demo"
    /// The local time of the users at the start, in minutes of the day; nil for the real time.
    public var beginsAt: Int?
    /// The rate of the provider, in pushes per minute.
    public var pushesAMinute = 0.0
    /// The maximum number of concurrent requests.
    public var concurrency = 32
    /// The number of devices with a connection to `push`.
    public var pushConnections = 200
    /// The size of a download in bytes.
    public var downloadBytes = 262_144

    public init() {}

    /// - Throws: ``FleetError`` with the first invalid option.
    public func validate() throws(FleetError) {
        guard (1...100_000).contains(devices) else { throw FleetError("--devices must be from 1 to 100000") }
        guard duration > .zero else { throw FleetError("--for must be more than 0") }
        guard rate >= 0.01, rate <= 100_000 else { throw FleetError("--rate must be from 0.01 to 100000") }
        guard pushesAMinute >= 0, pushesAMinute <= 1_000_000 else {
            throw FleetError("the rate of pushes must be from 0 to 1000000 per minute")
        }
        guard (1...1024).contains(concurrency) else { throw FleetError("--concurrency must be from 1 to 1024") }
        guard (0...10_000).contains(pushConnections) else {
            throw FleetError("--push-connections must be from 0 to 10000")
        }
        guard (8...1 << 30).contains(downloadBytes) else {
            throw FleetError("--download-bytes must be from 8 to 1073741824")
        }
        let signs = fleet.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x2D || byte == 0x2E || byte == 0x5F
        }
        guard signs, (1...64).contains(fleet.utf8.count) else {
            throw FleetError("--fleet must be 1 to 64 characters of A-Z a-z 0-9 . _ -")
        }
    }

    /// Parses a duration such as `90s`, `10m`, `24h`, `7d` or `500ms`.
    public static func duration(_ text: String) -> Interval? {
        let units: [(String, Int64)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
        for (unit, milliseconds) in units where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)), number > 0, number < 1_000_000 else { continue }
            return .milliseconds(Int64(number * Double(milliseconds)))
        }
        return nil
    }

    /// Parses a time of day such as `07:30`, and returns minutes.
    public static func timeOfDay(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let hour = parts[0], let minute = parts[1], (0...23).contains(hour),
            (0...59).contains(minute)
        else { return nil }
        return hour * 60 + minute
    }
}
