public import Records

/// What a device says of itself when it is registered. All but the profile may be missing.
public struct Registration: Record, Equatable {
    public var profile: ProfileName = .ios18
    public var model: String?
    public var memoryMB: Int?
    public var fleet: String?
    /// A name of the IANA time zone database.
    public var timeZone: String?
    public var gps = true
    public var cellular = true
    /// False for devices on which leaving an app ends it.
    public var multitasking = true

    public init() {}

    public init(profile: ProfileName) { self.profile = profile }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("cellular", &cellular)
        fields.omittable("fleet", &fleet, .identifier)
        fields.defaulted("gps", &gps)
        fields.omittable("memoryMB", &memoryMB, .range(1...1_048_576))
        fields.omittable("model", &model, .text(1...64))
        fields.defaulted("multitasking", &multitasking)
        fields.field("profile", &profile)
        fields.omittable("timeZone", &timeZone, .text(1...64))
    }
}
