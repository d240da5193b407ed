public import Records

/// The entries of an app's `Info.plist` and the entitlements that affect its execution.
public struct Manifest: Record, Equatable {
    public var backgroundModes: Defaulted<[BackgroundMode]> = []
    public var entitlements: Defaulted<[Entitlement]> = []
    /// `UIApplicationExitsOnSuspend`.
    public var exitsOnSuspend: Defaulted<Bool> = false
    public var handlersReturn: Defaulted<HandlersReturn> = .immediately
    /// The identifiers for which the code of the app registers a launch handler before each launch ends; nil for all of
    /// `permittedTaskIdentifiers`.
    ///
    /// Source: Apple, `BGTaskScheduler.register(forTaskWithIdentifier:using:launchHandler:)`: every permitted identifier
    /// needs a handler, and each process registers its own.
    public var launchHandlers: [String]?
    public var memoryMB: Int?
    /// The authorization for notifications with which a new installation starts, as on a device that was restored from a
    /// backup; nil for `notDetermined`. An update ignores it.
    public var notificationAuthorization: NotificationAuthorization?
    /// Whether the app has a notification service extension. It has an effect from iOS 10.
    public var notificationServiceExtension: Defaulted<Bool> = false
    /// `BGTaskSchedulerPermittedIdentifiers`. One that ends with `.*` permits the identifiers of continued processing tasks
    /// that begin with the text before the asterisk.
    public var permittedTaskIdentifiers: Defaulted<[String]> = []
    /// `UIApplicationSceneManifest`: whether the app has a scene delegate. It has an effect from iOS 13.
    public var scenes: Defaulted<Bool> = false

    enum Constraints {
        static let backgroundModes: Constraint<[BackgroundMode]> = .count(0...BackgroundMode.allCases.count)
        static let entitlements: Constraint<[Entitlement]> = .count(0...Entitlement.allCases.count)
        static let launchHandlers: Constraint<[String]> = .taskIdentifiers
        static let memoryMB: Constraint<Int> = .range(1...1_048_576)
        static let permittedTaskIdentifiers: Constraint<[String]> = .taskIdentifiers
    }
}

extension Constraint where T == [String] {
    /// At most 32 identifiers, to limit the size of the device's state.
    public static var taskIdentifiers: Constraint<[String]> {
        Constraint(
            "must have at most 32 identifiers, each with 1 to 128 characters of A-Z a-z 0-9 . _ : -, with or without .* at "
                + "the end",
            keywords: [
                ("maxItems", 32), ("items", ["type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}([.][*])?$"]),
            ]
        ) { $0.count <= 32 && $0.allSatisfy { isIdentifier($0.hasSuffix(".*") ? String($0.dropLast(2)) : $0) } }
    }
}
