import Synchronization

/// A gate that lets tasks pass while it is open and blocks them while it is closed.
///
/// In a test double, it holds a step exactly at the point that the test checks.
public final class Gate: Sendable {
    /// Has fired if the gate is open. Each closing makes a new signal.
    private let opened: Mutex<Signal<Void>>
    private let tally = Tally()

    /// Creates a gate, closed by default.
    public init(open: Bool = false) {
        let signal = Signal<Void>()
        if open { signal.fire() }
        opened = Mutex(signal)
    }

    /// Whether it is open.
    public var isOpen: Bool { opened.withLock(\.hasFired) }

    /// Opens the gate for all waiting and later tasks.
    public func open() { opened.withLock { $0 }.fire() }

    /// Closes the gate for all later tasks.
    public func close() {
        opened.withLock { if $0.hasFired { $0 = Signal() } }
    }

    /// Passes the gate, or waits while it is closed.
    /// - Throws: `CancellationError` if the waiting task is cancelled first.
    public func pass() async throws {
        let opened = opened.withLock { $0 }
        tally.add()
        try await opened.value()
    }

    /// Waits until a number of tasks have arrived since the gate was created, whether they passed or not.
    /// - Throws: `CancellationError` if the waiting task is cancelled first.
    public func arrivals(_ count: Int = 1) async throws { try await tally.reaches(count) }
}
