public import Records

extension LifecycleEvent {
    /// A Bluetooth manager of an app started to wait for events.
    public struct BluetoothManagerStarted: EventData {
        public static let type = "lifecycle.bluetoothManager.started"

        public var app: Nullable<String>
        public var manager: BluetoothManager
        public var role: BluetoothRole
    }

    /// A Bluetooth manager of an app no longer waits for events.
    public struct BluetoothManagerStopped: EventData {
        public static let type = "lifecycle.bluetoothManager.stopped"

        public var app: Nullable<String>
        public var role: BluetoothRole
    }

    /// A Bluetooth device caused an event for an app.
    public struct BluetoothEventOccurred: EventData {
        public static let type = "lifecycle.bluetoothEvent.occurred"

        public var app: Nullable<String>
        /// The delegate methods that the system calls if the app is on screen or has an open wake of this kind. Otherwise
        /// it wakes the app.
        public var callbacks: [Callback]
        public var event: BluetoothEvent
    }
}
