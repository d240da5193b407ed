public import Records

extension LifecycleEvent {
    /// An app asked to be told when the device enters or leaves a region.
    public struct RegionMonitored: EventData {
        public static let type = "lifecycle.region.monitored"
        public static let summary = "An app asked to be told when the device enters or leaves a region."

        public var app: String?
        public var identifier: String = ""
        public var region: Region = .placeholder

        public init() {}

        public init(app: String, identifier: String, region: Region) {
            self.app = app
            self.identifier = identifier
            self.region = region
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("identifier", &identifier)
            fields.field("region", &region)
        }
    }

    /// An app no longer wants to be told of a region.
    public struct RegionUnmonitored: EventData {
        public static let type = "lifecycle.region.unmonitored"
        public static let summary = "An app no longer wants to be told of a region."

        public var app: String?
        public var identifier: String = ""

        public init() {}

        public init(app: String, identifier: String) {
            self.app = app
            self.identifier = identifier
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("identifier", &identifier)
        }
    }

    /// The device entered or left a region, and stayed there long enough for it to count.
    public struct RegionCrossed: EventData {
        public static let type = "lifecycle.region.crossed"
        public static let summary = "The device entered or left a region, and stayed there long enough for it to count."

        public var app: String?
        /// Delivered to the app where it is on screen; it is woken elsewhere.
        public var callbacks: [Callback] = []
        /// True for inside, false for outside.
        public var entered: Bool = false
        public var identifier: String = ""

        public init() {}

        public init(app: String, callbacks: [Callback], entered: Bool, identifier: String) {
            self.app = app
            self.callbacks = callbacks
            self.entered = entered
            self.identifier = identifier
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.field("entered", &entered)
            fields.field("identifier", &identifier)
        }
    }

    /// An app asked to be told when the device has moved far.
    public struct SignificantChangesMonitored: EventData {
        public static let type = "lifecycle.significantChanges.monitored"
        public static let summary = "An app asked to be told when the device has moved far."

        public var app: String?

        public init() {}

        public init(app: String) {
            self.app = app
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
        }
    }

    /// An app no longer wants to be told when the device has moved far.
    public struct SignificantChangesUnmonitored: EventData {
        public static let type = "lifecycle.significantChanges.unmonitored"
        public static let summary = "An app no longer wants to be told when the device has moved far."

        public var app: String?

        public init() {}

        public init(app: String) {
            self.app = app
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
        }
    }

    /// The device moved far since the app was told last.
    public struct SignificantChangeReported: EventData {
        public static let type = "lifecycle.significantChange.reported"
        public static let summary = "The device moved far since the app was told last."

        public var app: String?
        /// Delivered to the app where it is on screen; it is woken elsewhere.
        public var callbacks: [Callback] = []

        public init() {}

        public init(app: String, callbacks: [Callback]) {
            self.app = app
            self.callbacks = callbacks
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
        }
    }
}
