public import Records
public import Timeline

extension FetchEvent {
    /// `fetch` recorded a device or a change of its registration.
    public struct DeviceUpdated: EventData {
        public static let type = "fetch.device.updated"

        public var fleet: String?
        public var profile: ProfileName = .ios18
        /// A name of the IANA time zone database; nil means UTC.
        public var timeZone: String?
    }

    /// A device was removed with all its data.
    public struct DeviceRemoved: EventData {
        public static let type = "fetch.device.removed"
    }

    /// The conditions of a device changed in a way that may affect refreshes.
    public struct ConditionsChanged: EventData {
        public static let type = "fetch.conditions.changed"

        /// Background App Refresh for the whole device; nil if unchanged.
        public var backgroundRefresh: Switch?
        /// Whether the device forbids Background App Refresh; nil if unchanged.
        public var backgroundRefreshRestricted: Bool?
        /// The changed conditions. A battery level is included when it crosses the limit or when charging changes.
        public var conditions: Defaulted<Conditions> = .placeholder
        /// Whether the device is switched on; nil if unchanged.
        public var poweredOn: Bool?
    }
    /// The service recorded an outage and extended the deadlines of awaited answers by its duration. Work that became
    /// due during the outage gets new time slots.
    public struct OutageRecorded: EventData {
        public static let type = "fetch.outage.recorded"

        /// The last time at which the service is known to have answered.
        public var from: Instant
        /// The first time at which the service answers again.
        public var until: Instant
    }

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
        /// Whether the app has the entitlement to use the GPU in the background; nil if unchanged.
        public var isEntitledToBackgroundGPU: Bool?
        /// Whether the app has the entitlement for health research tasks; nil if unchanged.
        public var isEntitledToHealthResearch: Bool?
        /// The permitted task identifiers for which the app registers no launch handler; nil if unchanged.
        public var missingLaunchHandlers: [String]?
        /// `BGTaskSchedulerPermittedIdentifiers`; nil if unchanged.
        public var permittedTaskIdentifiers: [String]?
        /// Its state in `lifecycle`; nil if unchanged.
        public var state: AppPresence?
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
