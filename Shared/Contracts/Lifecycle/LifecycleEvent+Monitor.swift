public import Records

extension LifecycleEvent {
    /// The code of an app created a `CLMonitor`, or opened the stored one with this name.
    public struct MonitorOpened: EventData {
        public static let type = "lifecycle.monitor.opened"

        public var app: Nullable<String>
        public var monitor: String
    }

    /// An app added a condition to a monitor.
    public struct MonitorConditionAdded: EventData {
        public static let type = "lifecycle.monitorCondition.added"

        public var app: Nullable<String>
        public var condition: MonitorCondition
        public var identifier: String
        public var monitor: String
    }

    /// An app removed a condition from a monitor.
    public struct MonitorConditionRemoved: EventData {
        public static let type = "lifecycle.monitorCondition.removed"

        public var app: Nullable<String>
        public var identifier: String
        public var monitor: String
    }

    /// A condition of a monitor has a new state. The event waits until the monitor is open in a process of the app.
    public struct MonitorConditionChanged: EventData {
        public static let type = "lifecycle.monitorCondition.changed"

        public var app: Nullable<String>
        public var identifier: String
        public var monitor: String
        public var state: MonitoringState
    }

    /// The monitor of an app delivered the new state of a condition.
    public struct MonitorEventDelivered: EventData {
        public static let type = "lifecycle.monitorEvent.delivered"

        public var app: Nullable<String>
        public var callbacks: [Callback]
        public var identifier: String
        public var monitor: String
        public var state: MonitoringState
    }
}
