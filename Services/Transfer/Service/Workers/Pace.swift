/// The rate limit of progress reports: after 1 MiB and 250 ms, or after 5 s with any bytes.
struct Pace {
    static let bytes = 1 << 20
    static let pause = Duration.milliseconds(250)
    static let longestSilence = Duration.seconds(5)

    private var count = 0
    private var last: ContinuousClock.Instant

    /// - Parameter start: when the first pause begins.
    init(since start: ContinuousClock.Instant = .now) { last = start }

    /// Adds bytes. Returns whether a report is due; if so, the next pause begins.
    mutating func isDue(_ bytes: Int, now: ContinuousClock.Instant = .now) -> Bool {
        count += bytes
        let silence = now - last
        guard count >= Self.bytes && silence >= Self.pause || count > 0 && silence >= Self.longestSilence else {
            return false
        }
        count = 0
        last = now
        return true
    }
}
