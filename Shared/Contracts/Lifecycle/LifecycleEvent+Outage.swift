import Records
public import Timeline

extension LifecycleEvent {
    /// The service recorded an outage and extended the running limits of a device by its duration.
    ///
    /// A device can get several events for one outage: an answered call of the device ends an earlier one while other
    /// devices still wait. Their intervals are adjacent and do not overlap.
    public struct OutageRecorded: EventData {
        public static let type = "lifecycle.outage.recorded"

        /// The last time at which the device could reach the service.
        public var from: Instant
        /// The first time at which the device could reach the service again.
        public var until: Instant
    }
}
