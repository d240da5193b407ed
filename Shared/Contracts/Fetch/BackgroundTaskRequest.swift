public import Records
public import Timeline

/// A `BGTaskRequest`, as an app submits it.
public struct BackgroundTaskRequest: Record, Equatable {
    /// Not before; it says nothing of how long after.
    public var earliestBeginDate: Instant?
    /// Whether the launch handler sets `BGTask.expirationHandler`.
    public var expirationHandler: Defaulted<Bool> = true
    /// One of the manifest's `permittedTaskIdentifiers`.
    public var identifier = ""
    public var kind = TaskRequestKind.refresh
    /// Of processing alone.
    public var requiresExternalPower: Defaulted<Bool> = false
    /// Of processing alone.
    public var requiresNetworkConnectivity: Defaulted<Bool> = false

    enum Constraints {
        static let identifier: Rule<String> = .identifier
    }

    public init(_ identifier: String, _ kind: TaskRequestKind) {
        self.identifier = identifier
        self.kind = kind
    }
}
