public import Records
public import Timeline

/// A `BGTaskRequest`, as an app submits it.
public struct BackgroundTaskRequest: Record, Equatable {
    /// One of the manifest's `permittedTaskIdentifiers`.
    public var identifier = ""
    public var kind = TaskRequestKind.refresh
    /// Not before; it says nothing of how long after.
    public var earliestBeginDate: Instant?
    /// Of processing alone.
    public var requiresNetworkConnectivity = false
    /// Of processing alone.
    public var requiresExternalPower = false
    /// Whether the launch handler sets `BGTask.expirationHandler`.
    public var expirationHandler = true

    public init() {}

    public init(_ identifier: String, _ kind: TaskRequestKind) {
        self.identifier = identifier
        self.kind = kind
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("earliestBeginDate", &earliestBeginDate)
        fields.defaulted("expirationHandler", &expirationHandler)
        fields.field("identifier", &identifier, .identifier)
        fields.field("kind", &kind)
        fields.defaulted("requiresExternalPower", &requiresExternalPower)
        fields.defaulted("requiresNetworkConnectivity", &requiresNetworkConnectivity)
    }
}
