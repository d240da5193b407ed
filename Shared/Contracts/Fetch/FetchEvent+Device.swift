public import Records
public import Timeline

extension FetchEvent {
    /// What a device is, as far as refreshes depend on it.
    public struct DeviceDescribed: EventData {
        public static let type = "fetch.device.described"
        public static let summary = "What a device is became known, as far as refreshes depend on it."

        public var profile: ProfileName = .ios18
        public var fleet: String?
        /// A name of the IANA time zone database; nil stands for UTC.
        public var timeZone: String?

        public init() {}

        public init(profile: ProfileName, fleet: String?, timeZone: String?) {
            self.profile = profile
            self.fleet = fleet
            self.timeZone = timeZone
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("fleet", &fleet)
            fields.field("profile", &profile)
            fields.omittable("timeZone", &timeZone)
        }
    }

    /// A device left: nothing is known of it any more.
    public struct DeviceForgotten: EventData {
        public static let type = "fetch.device.forgotten"
        public static let summary = "A device left: nothing is known of it any more."

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {}
    }

    /// Conditions changed in a way that may matter to refreshes.
    public struct ConditionsChanged: EventData {
        public static let type = "fetch.conditions.changed"
        public static let summary = "Conditions of a device changed in a way that may matter to refreshes."

        /// Only what changed. A battery level is told when it crosses the limit, or with a change of charging.
        public var conditions = Conditions()
        /// Background App Refresh for the whole device, where it changed.
        public var backgroundRefresh: Switch?
        /// Whether the device forbids Background App Refresh, where that changed.
        public var backgroundRefreshRestricted: Bool?
        /// Whether the device is switched on, where it changed.
        public var poweredOn: Bool?

        public init() {}

        public init(
            conditions: Conditions = .placeholder, backgroundRefresh: Switch? = nil,
            backgroundRefreshRestricted: Bool? = nil, poweredOn: Bool? = nil
        ) {
            self.conditions = conditions
            self.backgroundRefresh = backgroundRefresh
            self.backgroundRefreshRestricted = backgroundRefreshRestricted
            self.poweredOn = poweredOn
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("backgroundRefresh", &backgroundRefresh)
            fields.omittable("backgroundRefreshRestricted", &backgroundRefreshRestricted)
            fields.defaulted("conditions", &conditions)
            fields.omittable("poweredOn", &poweredOn)
        }
    }
}

extension FetchEvent {
    /// The service could not be reached for a time: what was to be answered is waited for that much longer, and what was due
    /// meanwhile gets moments anew.
    public struct OutageNoted: EventData {
        public static let type = "fetch.outage.noted"
        public static let summary =
            "The service could not be reached for a time: what was to be answered is waited for that much longer."

        /// The last moment at which the service is known to have answered.
        public var from = Instant.epoch
        /// The first moment at which it does again.
        public var until = Instant.epoch

        public init() {}

        public init(from: Instant, until: Instant) {
            self.from = from
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("from", &from)
            fields.field("until", &until)
        }
    }
}
