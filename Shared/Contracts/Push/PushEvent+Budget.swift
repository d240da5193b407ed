public import Records
public import Timeline

extension PushEvent {
    /// The silent budget of a device was switched on or off.
    public struct ThrottleChanged: EventData {
        public static let type = "push.throttle.changed"
        public static let summary = "The silent budget of a device was switched on or off."

        public var enabled: Bool = true

        public init() {}

        public init(enabled: Bool) {
            self.enabled = enabled
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("enabled", &enabled)
        }
    }

    /// A silent notification was charged to the budget of its app, or given back.
    public struct BudgetChanged: EventData {
        public static let type = "push.budget.changed"
        public static let summary = "A silent notification was charged to the budget of its app, or given back."

        public var app: String?
        /// False where it was given back.
        public var charged: Bool = false
        /// Days since 1970.
        public var day: Int = 0
        /// When the budget is full again.
        public var fullAt: Instant = .epoch
        public var notification: String = ""
        /// Of all apps of the device.
        public var spentToday: Int = 0

        public init() {}

        public init(app: String?, charged: Bool, day: Int, fullAt: Instant, notification: String, spentToday: Int) {
            self.app = app
            self.charged = charged
            self.day = day
            self.fullAt = fullAt
            self.notification = notification
            self.spentToday = spentToday
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("charged", &charged)
            fields.field("day", &day)
            fields.field("fullAt", &fullAt)
            fields.field("notification", &notification)
            fields.field("spentToday", &spentToday)
        }
    }
}
