public import Records
public import Timeline

extension FetchEvent {
    /// Facts of an app changed that may matter to its refreshes; the first of its kind says that it is installed.
    public struct AppChanged: EventData {
        public static let type = "fetch.app.changed"

        public var app: Nullable<String>
        /// The user's switch for this app, where it changed.
        public var backgroundRefresh: Switch?
        /// Whether its manifest declares the mode `fetch`, where that changed.
        public var declaresFetch: Bool?
        /// Whether it declares the mode `processing`, where that changed.
        public var declaresProcessing: Bool?
        /// Whether the user ended it in the switcher, where that changed.
        public var forceQuit: Bool?
        /// True where a wake other than a refresh brought new data, a silent push for example.
        public var hasNewData: Bool?
        /// Whether it is on screen, where that changed.
        public var inForeground: Bool?
        /// `BGTaskSchedulerPermittedIdentifiers`, where they changed.
        public var permittedTaskIdentifiers: [String]?
    }

    /// The user opened an app: it is on screen, no longer force-quit, and its usage profile learns the hour.
    public struct AppOpened: EventData {
        public static let type = "fetch.app.opened"

        public var app: Nullable<String>
        /// Age of the content at this moment: seconds since the last refresh with new data; nil where there was none.
        public var contentAgeSeconds: Interval?
        /// The hour of the week in the device's time zone, from 0 (Monday 00:00) to 167.
        public var hourOfWeek: Int

        enum Constraints {
            static let hourOfWeek: Rule<Int> = .range(0...167)
        }
    }

    /// An app is gone, and with it its interval and its usage profile.
    public struct AppForgotten: EventData {
        public static let type = "fetch.app.forgotten"

        public var app: Nullable<String>
    }

    /// An app set its minimum background fetch interval.
    public struct IntervalSet: EventData {
        public static let type = "fetch.interval.set"

        public var app: Nullable<String>
        public var interval: FetchInterval = .never
    }
}
