import Records
public import Timeline

extension LifecycleEvent {
    /// The service could not be reached for a time: every limit of the device that ran when it began ends that much later.
    ///
    /// Of one outage a device gets several of these where a call of it was answered while other devices still waited for the
    /// end; they touch, and do not overlap.
    public struct OutageNoted: EventData {
        public static let type = "lifecycle.outage.noted"

        /// The last moment at which the device could reach the service.
        public var from: Instant
        /// The first moment at which it can again.
        public var until: Instant
    }
}
