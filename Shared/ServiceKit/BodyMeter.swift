import NIOCore

/// Measures how fast a body comes, over the time in which the server wants more of it: a server that is busy with what it has
/// is not the client's fault.
struct BodyMeter {
    /// Bytes a second; more than 0.
    let rate: Int
    /// The rate is held over so long, so that a client may pause.
    let window: TimeAmount
    private var bytes = 0
    private var waited = TimeAmount.zero
    /// Since when the server waits for more.
    private var since: NIODeadline?

    init(rate: Int, window: TimeAmount) {
        self.rate = rate
        self.window = window
    }

    mutating func want(at now: NIODeadline) { if since == nil { since = now } }

    mutating func take(_ count: Int) { bytes += count }

    /// What was wanted has come.
    mutating func rest(at now: NIODeadline) {
        if let since { waited = waited + (now - since) }
        since = nil
    }

    /// Whether the client was too slow in the window that has passed; begins the next one where one has.
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

    /// When to look again.
    func nextLook(after now: NIODeadline) -> NIODeadline { now + max(window - waited, min(window, .seconds(1))) }
}
