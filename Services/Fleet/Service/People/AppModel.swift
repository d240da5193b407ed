public import Records
public import Timeline

/// The behaviour of the code of an app.
public enum Behaviour: String, Sendable, CaseIterable {
    /// Answers in time, and ends all tasks.
    case wellBehaved
    /// Uses most of its time limits.
    case slowHandler
    /// Never calls the completion handler of a wake, so the system kills it.
    case neverCompletes
    /// Begins background tasks and never ends them, even at their expiration.
    case leaksTasks
    /// Sometimes crashes in its handlers.
    case crashes
    /// Starts a download in a background session whenever it runs.
    case downloadsMuch
}

/// An app in the store: its manifest, its behaviour and its use.
public struct AppModel: Sendable, Equatable {
    /// `UIApplication`'s minimum background fetch interval.
    public enum FetchInterval: Sendable, Equatable {
        case minimum
        case seconds(Int)

        var document: JSON {
            switch self {
            case .minimum: ["interval": "minimum"]
            case .seconds(let seconds): ["interval": .int(seconds)]
            }
        }
    }

    public var identifier: String
    public var behaviour: Behaviour
    /// The background modes of the manifest.
    public var modes: [String]
    /// Whether the app reports the return of its handlers. Otherwise handlers return at once.
    public var reportsHandlers: Bool
    public var fetchInterval: FetchInterval?
    /// Whether its alerts have actions: a reply in the background, and one that opens the app.
    public var hasActions: Bool { hasServiceExtension }
    /// Whether it has a notification service extension.
    public var hasServiceExtension: Bool
    /// The average number of times that a user opens it in a day.
    public var opensADay: Int
    /// The percentage of its notifications that users open.
    public var opensNotifications: Int
    /// The duration of one use, in time of the users.
    public var stay: ClosedRange<Interval>
    public var memoryMB: Int

    /// Whether the app registers for pushes.
    public var takesPushes: Bool { modes.contains("remote-notification") }
    /// Whether the app asks for the location: the weather, and the game, which has no use for it.
    public var wantsLocation: Bool { behaviour == .neverCompletes || behaviour == .crashes }
    /// Whether it has a Push to Talk channel, from iOS 16.
    public var talks: Bool { modes.contains("push-to-talk") }
    /// Whether it uploads videos.
    public var uploads: Bool { identifier == "com.example.photos" }
    /// Whether its user exports videos, which takes minutes.
    public var exports: Bool { identifier == "com.example.film" }
    /// The events for which it waits.
    public var interests: [Interest] {
        switch identifier {
        case "com.example.weather": [.visits]
        case "com.example.game": [.beacons, .monitor, .condition]
        case "com.example.fitness": [.bluetooth, .health, .research]
        default: []
        }
    }
    /// The identifiers of its task requests.
    private var taskIdentifiers: [String] {
        interests.contains(.research) ? [Interest.researchTask] : exports ? [exportPrefix + "*"] : []
    }
    /// The entitlements of its task requests.
    private var entitlements: [String] {
        interests.contains(.research) ? ["com.apple.developer.backgroundtasks.healthresearch"] : []
    }
    /// Whether the app downloads.
    public var downloads: Bool { behaviour == .downloadsMuch }

    /// The document of `PUT /v1/devices/{device}/apps/{app}`.
    public var manifest: JSON {
        [
            "backgroundModes": .array(modes.map { .string($0) }), "memoryMB": .int(memoryMB),
            "handlersReturn": .string(reportsHandlers ? "reported" : "immediately"),
            "notificationServiceExtension": .bool(hasServiceExtension),
            "entitlements": .array(entitlements.map { .string($0) }),
            "permittedTaskIdentifiers": .array(taskIdentifiers.map { .string($0) }),
            "scenes": .bool(!interests.isEmpty),
        ]
    }

    /// The beginning of the identifiers of its exports.
    var exportPrefix: String { identifier + ".export." }

    /// The category of alerts with actions.
    static let category = "MESSAGE"
    /// The document of `PUT …/notification-categories`.
    static let categories: JSON = [
        "categories": [
            [
                "identifier": .string(category),
                "actions": [
                    ["identifier": "reply", "textInput": true], ["identifier": "show", "options": ["foreground"]],
                ],
            ]
        ]
    ]

    /// All apps, one or two of each behaviour.
    public static let store: [AppModel] = [
        AppModel(
            "com.example.mail", .wellBehaved, ["fetch", "remote-notification"], reports: true, .minimum, opens: 20,
            taps: 25, .seconds(20)...(.minutes(3))),
        AppModel(
            "com.example.chat", .wellBehaved, ["push-to-talk", "remote-notification"], reports: false, nil, opens: 45,
            taps: 60, .seconds(10)...(.minutes(2)), hasServiceExtension: true),
        AppModel(
            "com.example.news", .slowHandler, ["fetch", "remote-notification"], reports: true, .seconds(3600),
            opens: 8, taps: 10, .minutes(1)...(.minutes(10))),
        AppModel(
            "com.example.weather", .neverCompletes, ["fetch"], reports: false, .minimum, opens: 5,
            taps: 5, .seconds(10)...(.seconds(40))),
        AppModel(
            "com.example.photos", .leaksTasks, ["fetch", "remote-notification"], reports: true, .seconds(7200),
            opens: 10, taps: 15, .seconds(30)...(.minutes(5))),
        AppModel(
            "com.example.game", .crashes, ["remote-notification"], reports: true, nil, opens: 6, taps: 20,
            .minutes(3)...(.minutes(25))),
        AppModel(
            "com.example.podcasts", .downloadsMuch, ["fetch", "remote-notification"], reports: true, .minimum,
            opens: 4, taps: 20, .minutes(1)...(.minutes(6))),
        AppModel(
            "com.example.fitness", .wellBehaved, ["bluetooth-central", "processing"], reports: true, nil, opens: 5,
            taps: 10,
            .seconds(30)...(.minutes(4))),
        AppModel(
            "com.example.film", .wellBehaved, [], reports: true, nil, opens: 3, taps: 10, .minutes(2)...(.minutes(9))),
    ]

    private init(
        _ identifier: String, _ behaviour: Behaviour, _ modes: [String], reports: Bool, _ interval: FetchInterval?,
        opens: Int, taps: Int, _ stay: ClosedRange<Interval>, hasServiceExtension: Bool = false
    ) {
        self.identifier = identifier
        self.behaviour = behaviour
        self.modes = modes
        reportsHandlers = reports
        fetchInterval = interval
        self.hasServiceExtension = hasServiceExtension
        opensADay = opens
        opensNotifications = taps
        self.stay = stay
        memoryMB = 40 + identifier.utf8.count * 5
    }
}
