import Synchronization

/// A gate that lets through while it is open and holds everybody while it is closed.
///
/// Put one into a double to hold a step exactly where the test wants it, look, then open it.
public final class Gate: Sendable {
    /// Fired when the gate is open; a closed gate has a fresh one.
    private let opened: Mutex<Signal<Void>>
    private let tally = Tally()

    /// A gate that starts closed, unless asked otherwise.
    public init(open: Bool = false) {
        let signal = Signal<Void>()
        if open { signal.fire() }
        opened = Mutex(signal)
    }

    /// Whether it lets through now.
    public var isOpen: Bool { opened.withLock(\.hasFired) }

    /// Lets through all who wait and all who come.
    public func open() { opened.withLock { $0 }.fire() }

    /// Holds all who come from now on.
    public func close() {
        opened.withLock { if $0.hasFired { $0 = Signal() } }
    }

    /// Goes through the gate, waiting while it is closed.
    /// - Throws: `CancellationError` when the waiting task is cancelled first.
    public func pass() async throws {
        let opened = opened.withLock { $0 }
        tally.add()
        try await opened.value()
    }

    /// Waits until so many have come to the gate since it was made, whether it let them through or not.
    /// - Throws: `CancellationError` when the waiting task is cancelled first.
    public func arrivals(_ count: Int = 1) async throws { try await tally.reaches(count) }
}
