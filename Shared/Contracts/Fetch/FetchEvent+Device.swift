public import Records
public import Timeline

extension FetchEvent {
    /// What a device is, as far as refreshes depend on it.
    public struct DeviceDescribed: EventData {
        public static let type = "fetch.device.described"

        public var fleet: String?
        public var profile: ProfileName = .ios18
        /// A name of the IANA time zone database; nil stands for UTC.
        public var timeZone: String?
    }

    /// A device left: nothing is known of it any more.
    public struct DeviceForgotten: EventData {
        public static let type = "fetch.device.forgotten"
    }

    /// Conditions changed in a way that may matter to refreshes.
    public struct ConditionsChanged: EventData {
        public static let type = "fetch.conditions.changed"

        /// Background App Refresh for the whole device, where it changed.
        public var backgroundRefresh: Switch?
        /// Whether the device forbids Background App Refresh, where that changed.
        public var backgroundRefreshRestricted: Bool?
        /// Only what changed. A battery level is told when it crosses the limit, or with a change of charging.
        public var conditions: Defaulted<Conditions> = .placeholder
        /// Whether the device is switched on, where it changed.
        public var poweredOn: Bool?
    }
}

extension FetchEvent {
    /// The service could not be reached for a time: what was to be answered is waited for that much longer, and what was due
    /// meanwhile gets moments anew.
    public struct OutageNoted: EventData {
        public static let type = "fetch.outage.noted"

        /// The last moment at which the service is known to have answered.
        public var from: Instant
        /// The first moment at which it does again.
        public var until: Instant
    }
}
