public import Records
public import Timeline

extension FetchEvent {
    /// The state of an app changed in a way that may affect its refreshes. The first event of an app reports its
    /// installation.
    public struct AppUpdated: EventData {
        public static let type = "fetch.app.updated"

        public var app: Nullable<String>
        /// The user's switch for the app; nil if unchanged.
        public var backgroundRefresh: Switch?
        /// Whether the manifest declares the mode `fetch`; nil if unchanged.
        public var declaresFetch: Bool?
        /// Whether the manifest declares the mode `processing`; nil if unchanged.
        public var declaresProcessing: Bool?
        /// Whether the user force-quit the app; nil if unchanged.
        public var forceQuit: Bool?
        /// Whether a wake other than a refresh brought new data, for example a silent push.
        public var hasNewData: Bool?
        /// Whether the app is on screen; nil if unchanged.
        public var inForeground: Bool?
        /// `BGTaskSchedulerPermittedIdentifiers`; nil if unchanged.
        public var permittedTaskIdentifiers: [String]?
    }

    /// The user opened an app. The app is on screen and no longer force-quit, and its usage profile learns the hour.
    public struct AppOpened: EventData {
        public static let type = "fetch.app.opened"

        public var app: Nullable<String>
        /// The age of the content: seconds since the last refresh with new data; nil if there was none.
        public var contentAgeSeconds: Interval?
        /// The hour of the week in the device's time zone, from 0 (Monday 00:00) to 167.
        public var hourOfWeek: Int

        enum Constraints {
            static let hourOfWeek: Constraint<Int> = .range(0...167)
        }
    }

    /// An app was uninstalled. Its interval and usage profile are deleted.
    public struct AppRemoved: EventData {
        public static let type = "fetch.app.removed"

        public var app: Nullable<String>
    }

    /// An app set its minimum background fetch interval.
    public struct IntervalSet: EventData {
        public static let type = "fetch.interval.set"

        public var app: Nullable<String>
        public var interval: FetchInterval = .never
    }
}
