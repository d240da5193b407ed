public import Contracts
public import Records

/// An app of a scenario: its identifier, the members of its ``Manifest``, and the behaviour of its code.
public struct ScenarioApp: Record, Equatable {
    /// The bundle identifier.
    public var id: String
    /// The activity that it starts at each opening.
    public var activity: ActivityPlan?
    public var backgroundModes: Defaulted<[BackgroundMode]> = []
    /// Its accessory.
    public var bluetooth: BluetoothPlan?
    /// Its continued processing tasks. ``manifest`` permits their identifiers.
    public var continuedProcessing: ContinuedProcessingPlan?
    public var entitlements: Defaulted<[Entitlement]> = []
    /// `UIApplicationExitsOnSuspend`.
    public var exitsOnSuspend: Defaulted<Bool> = false
    /// `setMinimumBackgroundFetchInterval(_:)` at each launch: `minimum`, `never` or a number of seconds. Without it, an
    /// app with the mode `fetch` sets `minimum`.
    public var fetchInterval: FetchInterval?
    /// The behaviour of each handler of a wake.
    public var handler: Defaulted<Handler> = Handler()
    /// Other handlers for some kinds of wakes.
    public var handlers: Defaulted<Handlers> = Handlers()
    public var handlersReturn: Defaulted<HandlersReturn> = .immediately
    /// Its background delivery of HealthKit.
    public var health: HealthPlan?
    /// The identifiers with a launch handler; all of ``permittedTaskIdentifiers`` if missing.
    public var launchHandlers: [String]?
    /// The authorization of location that people give at the installation.
    public var location: Defaulted<LocationAuthorization> = .notDetermined
    public var memoryMB: Int?
    /// How people allow its notifications.
    public var notificationAuthorization: Defaulted<AuthorizationPlan> = .asked
    /// Whether the app has a notification service extension, which returns after one second.
    public var notificationServiceExtension: Defaulted<Bool> = false
    /// `BGTaskSchedulerPermittedIdentifiers`.
    public var permittedTaskIdentifiers: Defaulted<[String]> = []
    /// Whether people put its alerts into the scheduled summary (from iOS 15).
    public var scheduledDelivery: Defaulted<Bool> = false
    /// `UIApplicationSceneManifest`.
    public var scenes: Defaulted<Bool> = false
    public var transfers: Defaulted<[TransferPlan]> = []
    /// Whether it monitors visits.
    public var visits: Defaulted<Bool> = false

    /// The document of the app's installation.
    public var manifest: Manifest {
        Manifest(
            backgroundModes: backgroundModes, entitlements: entitlements, exitsOnSuspend: exitsOnSuspend,
            handlersReturn: handlersReturn,
            launchHandlers: launchHandlers, memoryMB: memoryMB,
            notificationAuthorization: notificationAuthorization.atInstallation,
            notificationServiceExtension: notificationServiceExtension,
            permittedTaskIdentifiers: permittedTaskIdentifiers
                + (continuedProcessing == nil ? [] : [continuedProcessingPrefix + "*"]),
            scenes: scenes)
    }

    /// The beginning of the identifiers of its continued processing tasks.
    public var continuedProcessingPrefix: String { id + ".continued." }

    /// Returns the handler of a kind of wakes.
    public func handler(of reason: WakeReason) -> Handler {
        let own: Handler? =
            switch reason {
            case .fetch: handlers.fetch
            case .push: handlers.push
            case .transfer: handlers.transfer
            case .task: handlers.task
            case .voip: handlers.voip
            case .location: handlers.location
            case .bluetooth: handlers.bluetooth
            case .health: handlers.health
            // Scenarios have no such events.
            case .notificationResponse: nil
            }
        return own ?? handler
    }

    enum Constraints {
        static let id: Constraint<String> = .identifier
        static let backgroundModes: Constraint<[BackgroundMode]> = .count(0...BackgroundMode.allCases.count)
        static let entitlements: Constraint<[Entitlement]> = .count(0...Entitlement.allCases.count)
        static let launchHandlers: Constraint<[String]> = .taskIdentifiers
        static let memoryMB: Constraint<Int> = .range(1...1_048_576)
        static let permittedTaskIdentifiers: Constraint<[String]> = .taskIdentifiers
        static let transfers: Constraint<[TransferPlan]> = .count(0...16)
    }
}

/// How people allow the notifications of an app.
public enum AuthorizationPlan: String, WireEnum {
    /// The app asks at its first opening. The person allows it, unless the group has ``NotificationHabits/allowed`` `off`.
    case asked
    /// The app asks for provisional authorization at its first opening. Before iOS 12 it asks the person.
    case provisional
    /// The app never asks.
    case notDetermined
    /// The answer was given before the installation, as on a device that was restored from a backup.
    case authorized, denied

    /// The authorization of a new installation; nil if the app has not asked yet.
    var atInstallation: NotificationAuthorization? {
        switch self {
        case .asked, .provisional, .notDetermined: nil
        case .authorized: .authorized
        case .denied: .denied
        }
    }
}

/// The behaviour of a handler of a wake: it takes a time, then reports a result.
public struct Handler: Record, Equatable {
    /// The bytes that it loads with each wake.
    public var bytes: Defaulted<ByteCount> = ByteCount(0)
    public var result: Defaulted<Mix<HandlerResult>> = Mix(HandlerResult.newData)
    public var takes: Defaulted<SpreadSpan> = SpreadSpan.seconds(2, spread: 1)
}

/// The handlers of an app that differ from ``ScenarioApp/handler``, by the reason of the wake.
public struct Handlers: Record, Equatable {
    public var bluetooth: Handler?
    public var fetch: Handler?
    public var health: Handler?
    public var location: Handler?
    public var push: Handler?
    public var task: Handler?
    public var transfer: Handler?
    public var voip: Handler?
}

/// How a handler ends.
public enum HandlerResult: String, WireEnum, MixKey {
    case newData, noData, failed
    /// It never calls its completion handler.
    case neverReturns
    /// The app crashes after the time that the handler takes.
    case crashes

    /// The reported result; nil if the handler reports none.
    public var result: WakeResult? {
        switch self {
        case .newData: .newData
        case .noData: .noData
        case .failed: .failed
        case .neverReturns, .crashes: nil
        }
    }
}

/// Transfers of a background session that an app starts.
public struct TransferPlan: Record, Equatable {
    /// When the app starts one.
    public enum Start: String, WireEnum { case opening, push, refresh }
    /// The kind of the `URLSessionTask`.
    public enum Kind: String, WireEnum { case download, upload }

    /// `allowsCellularAccess` and `allowsExpensiveNetworkAccess`.
    public var allowsCellular: Defaulted<Bool> = true
    /// `allowsConstrainedNetworkAccess`.
    public var allowsConstrained: Defaulted<Bool> = true
    /// The probability that the server fails an attempt.
    public var failures: Defaulted<Percent> = Percent.none
    /// `isDiscretionary`.
    public var isDiscretionary: Defaulted<Bool> = false
    public var kind: Defaulted<TransferPlan.Kind> = .download
    /// The number of transfers on each device in the whole scenario; no limit if missing.
    public var limit: Int?
    public var size: ByteCount
    public var start: Defaulted<TransferPlan.Start> = .opening

    enum Constraints {
        static let limit: Constraint<Int> = .range(1...10_000)
    }
}

/// The speed of transfers in each network. The network `cellular` is LTE.
public struct Rates: Record, Equatable {
    public var edge = ByteRate(20_000)
    public var fifthGeneration = ByteRate(10_000_000)
    public var lossy = ByteRate(100_000)
    public var lte = ByteRate(1_500_000)
    public var thirdGeneration = ByteRate(200_000)
    public var wifi = ByteRate(5_000_000)

    public init() {}
    public static var placeholder: Rates { Rates() }

    // Written by hand, because `3g` and `5g` are no names of properties.
    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("3g", &thirdGeneration)
        fields.defaulted("5g", &fifthGeneration)
        fields.defaulted("edge", &edge)
        fields.defaulted("lossy", &lossy)
        fields.defaulted("lte", &lte)
        fields.defaulted("wifi", &wifi)
    }
}

extension ProfileName: MixKey {}
