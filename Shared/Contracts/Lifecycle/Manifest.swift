public import Records

/// What an app declares in its `Info.plist`, as far as it bears on running.
public struct Manifest: Record, Equatable {
    public var backgroundModes: [BackgroundMode] = []
    /// `BGTaskSchedulerPermittedIdentifiers`.
    public var permittedTaskIdentifiers: [String] = []
    /// `UIApplicationExitsOnSuspend`.
    public var exitsOnSuspend = false
    public var memoryMB: Int?
    public var handlersReturn = HandlersReturn.immediately

    public init() {}

    public init(
        backgroundModes: [BackgroundMode] = [], exitsOnSuspend: Bool = false,
        handlersReturn: HandlersReturn = .immediately
    ) {
        self.backgroundModes = backgroundModes
        self.exitsOnSuspend = exitsOnSuspend
        self.handlersReturn = handlersReturn
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("backgroundModes", &backgroundModes, .count(0...BackgroundMode.allCases.count))
        fields.defaulted("exitsOnSuspend", &exitsOnSuspend)
        fields.defaulted("handlersReturn", &handlersReturn)
        fields.omittable("memoryMB", &memoryMB, .range(1...1_048_576))
        fields.defaulted("permittedTaskIdentifiers", &permittedTaskIdentifiers, .taskIdentifiers)
    }
}

extension Rule where T == [String] {
    /// At most 32 identifiers, so that the state of a device stays small.
    fileprivate static var taskIdentifiers: Rule<[String]> {
        Rule(
            "must have at most 32 identifiers of 1 to 128 of A-Z a-z 0-9 . _ : -",
            keywords: [
                ("maxItems", 32), ("items", ["type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"]),
            ]
        ) { $0.count <= 32 && $0.allSatisfy { isIdentifier($0) } }
    }
}
