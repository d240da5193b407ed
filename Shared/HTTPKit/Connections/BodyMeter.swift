import NIOCore

/// Measures the rate of a body while the server waits for more of it. Time in which the server is busy does not count.
struct BodyMeter {
    /// Bytes a second; greater than 0.
    let rate: Int
    /// The window over which the rate counts, so that a client may pause.
    let window: TimeAmount
    private var bytes = 0
    private var waited = TimeAmount.zero
    /// The start of the current wait.
    private var since: NIODeadline?

    init(rate: Int, window: TimeAmount) {
        self.rate = rate
        self.window = window
    }

    mutating func want(at now: NIODeadline) { if since == nil { since = now } }

    mutating func take(_ count: Int) { bytes += count }

    /// Ends the wait: the bytes have arrived.
    mutating func rest(at now: NIODeadline) {
        if let since { waited = waited + (now - since) }
        since = nil
    }

    /// Whether the client was too slow in the last window. Starts the next window once one has passed.
    mutating func isTooSlow(at now: NIODeadline) -> Bool {
        if since != nil {
            rest(at: now)
            since = now
        }
        guard waited >= window else { return false }
        let wanted = Double(rate) * Double(waited.nanoseconds) / 1_000_000_000
        guard Double(bytes) >= wanted else { return true }
        (bytes, waited) = (0, .zero)
        return false
    }

    /// Returns the time of the next check.
    func nextLook(after now: NIODeadline) -> NIODeadline { now + max(window - waited, min(window, .seconds(1))) }
}
