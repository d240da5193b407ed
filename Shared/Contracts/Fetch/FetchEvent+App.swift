public import Records
public import Timeline

extension FetchEvent {
    /// Facts of an app changed that may matter to its refreshes; the first of its kind says that it is installed.
    public struct AppChanged: EventData {
        public static let type = "fetch.app.changed"
        public static let summary = "Facts of an app changed that may matter to its refreshes."

        public var app: String?
        /// Whether its manifest declares the mode `fetch`, where that changed.
        public var declaresFetch: Bool?
        /// Whether it declares the mode `processing`, where that changed.
        public var declaresProcessing: Bool?
        /// `BGTaskSchedulerPermittedIdentifiers`, where they changed.
        public var permittedTaskIdentifiers: [String]?
        /// The user's switch for this app, where it changed.
        public var backgroundRefresh: Switch?
        /// Whether the user ended it in the switcher, where that changed.
        public var forceQuit: Bool?
        /// Whether it is on screen, where that changed.
        public var inForeground: Bool?
        /// True where a wake other than a refresh brought new data, a silent push for example.
        public var hasNewData: Bool?

        public init() {}

        public init(
            app: String, declaresFetch: Bool? = nil, declaresProcessing: Bool? = nil,
            permittedTaskIdentifiers: [String]? = nil, backgroundRefresh: Switch? = nil, forceQuit: Bool? = nil,
            inForeground: Bool? = nil, hasNewData: Bool? = nil
        ) {
            self.app = app
            self.declaresFetch = declaresFetch
            self.declaresProcessing = declaresProcessing
            self.permittedTaskIdentifiers = permittedTaskIdentifiers
            self.backgroundRefresh = backgroundRefresh
            self.forceQuit = forceQuit
            self.inForeground = inForeground
            self.hasNewData = hasNewData
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.omittable("backgroundRefresh", &backgroundRefresh)
            fields.omittable("declaresFetch", &declaresFetch)
            fields.omittable("declaresProcessing", &declaresProcessing)
            fields.omittable("forceQuit", &forceQuit)
            fields.omittable("hasNewData", &hasNewData)
            fields.omittable("inForeground", &inForeground)
            fields.omittable("permittedTaskIdentifiers", &permittedTaskIdentifiers)
        }
    }

    /// The user opened an app: it is on screen, no longer force-quit, and its usage profile learns the hour.
    public struct AppOpened: EventData {
        public static let type = "fetch.app.opened"
        public static let summary = "The user opened an app; its usage profile learns the hour."

        public var app: String?
        /// The hour of the week in the device's time zone, from 0 (Monday 00:00) to 167.
        public var hourOfWeek = 0
        /// Age of the content at this moment: seconds since the last refresh with new data; nil where there was none.
        public var contentAgeSeconds: Interval?

        public init() {}

        public init(app: String, hourOfWeek: Int, contentAgeSeconds: Interval?) {
            self.app = app
            self.hourOfWeek = hourOfWeek
            self.contentAgeSeconds = contentAgeSeconds
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.omittable("contentAgeSeconds", &contentAgeSeconds)
            fields.field("hourOfWeek", &hourOfWeek, .range(0...167))
        }
    }

    /// An app is gone, and with it its interval and its usage profile.
    public struct AppForgotten: EventData {
        public static let type = "fetch.app.forgotten"
        public static let summary = "An app is gone, and with it its interval and its usage profile."

        public var app: String?

        public init() {}

        public init(app: String) { self.app = app }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("app", &app) }
    }

    /// An app set its minimum background fetch interval.
    public struct IntervalSet: EventData {
        public static let type = "fetch.interval.set"
        public static let summary = "An app set its minimum background fetch interval."

        public var app: String?
        public var interval = FetchInterval.never

        public init() {}

        public init(app: String, interval: FetchInterval) {
            self.app = app
            self.interval = interval
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("interval", &interval)
        }
    }
}
