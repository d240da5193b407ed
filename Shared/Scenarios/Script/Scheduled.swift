public import Timeline

/// Work of a device or an app with its time. Equal times keep the order of scheduling.
public struct Scheduled<Work: Sendable>: Sendable, Comparable {
    public var at: Instant
    public var number: Int
    /// The index of the app; nil for the device.
    public var app: Int?
    /// The process of the app. The work is dropped if the process has ended.
    public var run: Int?
    public var kind: Work

    @inlinable
    public init(at: Instant, number: Int, app: Int?, run: Int?, kind: Work) {
        self.at = at
        self.number = number
        self.app = app
        self.run = run
        self.kind = kind
    }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool { (left.at, left.number) < (right.at, right.number) }
    @inlinable
    public static func == (left: Self, right: Self) -> Bool { left.number == right.number }
}
