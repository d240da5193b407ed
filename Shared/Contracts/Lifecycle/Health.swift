public import Records

/// `HKUpdateFrequency`: the system wakes an app at most once in each period.
public enum HealthFrequency: String, WireEnum { case immediate, hourly, daily }

/// The arguments of `enableBackgroundDelivery(for:frequency:)`, with the type in the path.
public struct HealthDelivery: Record, Equatable {
    public var frequency: Defaulted<HealthFrequency> = HealthFrequency.immediate
}

/// A report that a sample was saved to the HealthKit store.
public struct HealthSample: Record, Equatable {
    /// The type of the sample, such as `stepCount`.
    public var sampleType = ""

    enum Constraints {
        static let sampleType: Constraint<String> = .identifier
    }
}

/// The reason why a background delivery ended.
public enum HealthDeliveryEnd: String, WireEnum {
    /// The app disabled it.
    case app
    /// The app did not call the completion handler three times.
    case noResponse
}
