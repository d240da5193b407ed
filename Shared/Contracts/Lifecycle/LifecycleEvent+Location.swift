public import Records

extension LifecycleEvent {
    /// An app started monitoring a region.
    public struct RegionMonitored: EventData {
        public static let type = "lifecycle.region.monitored"

        public var app: Nullable<String>
        public var identifier: String
        public var region: Region
    }

    /// An app stopped monitoring a region.
    public struct RegionUnmonitored: EventData {
        public static let type = "lifecycle.region.unmonitored"

        public var app: Nullable<String>
        public var identifier: String
    }

    /// An app started monitoring a beacon region.
    public struct BeaconRegionMonitored: EventData {
        public static let type = "lifecycle.beaconRegion.monitored"

        public var app: Nullable<String>
        public var identifier: String
        public var region: BeaconRegion
    }

    /// The display went on inside a beacon region whose app asked for its state.
    public struct RegionStateDetermined: EventData {
        public static let type = "lifecycle.regionState.determined"

        public var app: Nullable<String>
        /// The delegate methods that the system calls if the app is in use. Otherwise it wakes the app.
        public var callbacks: [Callback]
        public var identifier: String
    }

    /// The device entered or left a monitored region and stayed there long enough to count.
    public struct RegionCrossed: EventData {
        public static let type = "lifecycle.region.crossed"

        public var app: Nullable<String>
        /// The delegate methods that the system calls if the app is on screen. Otherwise it wakes the app.
        public var callbacks: [Callback]
        /// Whether the device entered the region; false if it left the region.
        public var entered: Bool
        public var identifier: String
    }

    /// An app started monitoring significant location changes.
    public struct SignificantChangesMonitored: EventData {
        public static let type = "lifecycle.significantChanges.monitored"

        public var app: Nullable<String>
    }

    /// An app stopped monitoring significant location changes.
    public struct SignificantChangesUnmonitored: EventData {
        public static let type = "lifecycle.significantChanges.unmonitored"

        public var app: Nullable<String>
    }

    /// The system reported a significant location change to an app.
    public struct SignificantChangeReported: EventData {
        public static let type = "lifecycle.significantChange.reported"

        public var app: Nullable<String>
        /// The delegate methods that the system calls if the app is on screen. Otherwise it wakes the app.
        public var callbacks: [Callback]
    }

    /// An app started monitoring visits.
    public struct VisitsMonitored: EventData {
        public static let type = "lifecycle.visits.monitored"

        public var app: Nullable<String>
    }

    /// An app stopped monitoring visits.
    public struct VisitsUnmonitored: EventData {
        public static let type = "lifecycle.visits.unmonitored"

        public var app: Nullable<String>
    }

    /// The system reported to an app that a visit began or ended.
    public struct VisitReported: EventData {
        public static let type = "lifecycle.visit.reported"

        public var app: Nullable<String>
        /// The delegate methods that the system calls if the app is on screen or has an open wake of this kind. Otherwise
        /// it wakes the app.
        public var callbacks: [Callback]
        public var kind: VisitKind
    }
}
