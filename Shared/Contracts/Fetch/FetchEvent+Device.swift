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
}

extension FetchEvent {
    /// The service recorded an outage and extended the deadlines of awaited answers by its duration. Work that became
    /// due during the outage gets new time slots.
    public struct OutageRecorded: EventData {
        public static let type = "fetch.outage.recorded"

        /// The last time at which the service is known to have answered.
        public var from: Instant
        /// The first time at which the service answers again.
        public var until: Instant
    }
}
