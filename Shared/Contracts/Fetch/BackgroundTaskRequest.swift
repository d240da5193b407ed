public import Records
public import Timeline

/// A submitted `BGTaskRequest`.
public struct BackgroundTaskRequest: Record, Equatable {
    /// The earliest start. The task may start much later.
    public var earliestBeginDate: Instant?
    /// Whether the launch handler sets `BGTask.expirationHandler`.
    public var expirationHandler: Defaulted<Bool> = true
    /// One of the manifest's `permittedTaskIdentifiers`.
    public var identifier = ""
    public var kind = TaskRequestKind.refresh
    /// For processing requests only.
    public var requiresExternalPower: Defaulted<Bool> = false
    /// For processing requests only.
    public var requiresNetworkConnectivity: Defaulted<Bool> = false

    enum Constraints {
        static let identifier: Constraint<String> = .identifier
    }

    public init(_ identifier: String, _ kind: TaskRequestKind) {
        self.identifier = identifier
        self.kind = kind
    }
}
