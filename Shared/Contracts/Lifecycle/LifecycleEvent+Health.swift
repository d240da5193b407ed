public import Records

extension LifecycleEvent {
    /// An app enabled the background delivery of samples of a type.
    public struct HealthDeliveryEnabled: EventData {
        public static let type = "lifecycle.healthDelivery.enabled"

        public var app: Nullable<String>
        public var frequency: HealthFrequency
        public var sampleType: String
    }

    /// The background delivery of samples of a type to an app ended.
    public struct HealthDeliveryDisabled: EventData {
        public static let type = "lifecycle.healthDelivery.disabled"

        public var app: Nullable<String>
        public var cause: HealthDeliveryEnd
        public var sampleType: String
    }

    /// A sample was saved to the HealthKit store of a device.
    public struct HealthSampleSaved: EventData {
        public static let type = "lifecycle.healthSample.saved"

        public var sampleType: String
    }

    /// HealthKit called the update handler of an app, or tried to wake the app for it.
    public struct HealthUpdateDelivered: EventData {
        public static let type = "lifecycle.healthUpdate.delivered"

        public var app: Nullable<String>
        /// The handlers that the system calls if the app is on screen. Otherwise it wakes the app.
        public var callbacks: [Callback]
        public var sampleType: String
    }
}
