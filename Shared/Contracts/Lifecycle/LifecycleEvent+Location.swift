public import Records

extension LifecycleEvent {
    /// An app asked to be told when the device enters or leaves a region.
    public struct RegionMonitored: EventData {
        public static let type = "lifecycle.region.monitored"

        public var app: Nullable<String>
        public var identifier: String
        public var region: Region
    }

    /// An app no longer wants to be told of a region.
    public struct RegionUnmonitored: EventData {
        public static let type = "lifecycle.region.unmonitored"

        public var app: Nullable<String>
        public var identifier: String
    }

    /// The device entered or left a region, and stayed there long enough for it to count.
    public struct RegionCrossed: EventData {
        public static let type = "lifecycle.region.crossed"

        public var app: Nullable<String>
        /// Delivered to the app where it is on screen; it is woken elsewhere.
        public var callbacks: [Callback]
        /// True for inside, false for outside.
        public var entered: Bool
        public var identifier: String
    }

    /// An app asked to be told when the device has moved far.
    public struct SignificantChangesMonitored: EventData {
        public static let type = "lifecycle.significantChanges.monitored"

        public var app: Nullable<String>
    }

    /// An app no longer wants to be told when the device has moved far.
    public struct SignificantChangesUnmonitored: EventData {
        public static let type = "lifecycle.significantChanges.unmonitored"

        public var app: Nullable<String>
    }

    /// The device moved far since the app was told last.
    public struct SignificantChangeReported: EventData {
        public static let type = "lifecycle.significantChange.reported"

        public var app: Nullable<String>
        /// Delivered to the app where it is on screen; it is woken elsewhere.
        public var callbacks: [Callback]
    }
}
