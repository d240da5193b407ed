public import Records

/// The description of a device at its registration. Only the profile is required.
public struct Registration: Record, Equatable {
    public var cellular: Defaulted<Bool> = true
    public var fleet: String?
    public var gps: Defaulted<Bool> = true
    public var memoryMB: Int?
    public var model: String?
    /// Whether the device supports multitasking. If not, an app ends when the user leaves it.
    public var multitasking: Defaulted<Bool> = true
    public var profile: ProfileName = .ios18
    /// The behaviour of a built-in device; nil for a device that clients simulate.
    public var simulate: BuiltInDevice?
    /// A name of the IANA time zone database.
    public var timeZone: String?

    enum Constraints {
        static let fleet: Constraint<String> = .identifier
        static let memoryMB: Constraint<Int> = .range(1...1_048_576)
        static let model: Constraint<String> = .text(1...64)
        static let timeZone: Constraint<String> = .text(1...64)
    }
}
