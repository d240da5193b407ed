public import Records

/// The role of a device towards another Bluetooth device.
public enum BluetoothRole: String, WireEnum {
    /// `CBCentralManager`.
    case central
    /// `CBPeripheralManager`.
    case peripheral
}

/// An event of Core Bluetooth that wakes an app.
public enum BluetoothEvent: String, WireEnum {
    /// A scan found a peripheral.
    case discovered
    case connected, disconnected
    /// A subscribed value of a peripheral changed.
    case valueUpdated
    case readRequested, writeRequested, subscribed

    /// The role in which an app gets the event.
    public var role: BluetoothRole {
        switch self {
        case .discovered, .connected, .disconnected, .valueUpdated: .central
        case .readRequested, .writeRequested, .subscribed: .peripheral
        }
    }

    /// The method of the delegate.
    public var callback: Callback {
        switch self {
        case .discovered: .didDiscoverPeripheral
        case .connected: .didConnectPeripheral
        case .disconnected: .didDisconnectPeripheral
        case .valueUpdated: .didUpdateValue
        case .readRequested: .didReceiveReadRequest
        case .writeRequested: .didReceiveWriteRequests
        case .subscribed: .didSubscribeToCharacteristic
        }
    }
}

/// A central or peripheral manager of an app, which waits for events.
public struct BluetoothManager: Record, Equatable {
    /// `CBCentralManagerOptionRestoreIdentifierKey`: the system keeps the manager after the end of the process, and
    /// launches the app for its events.
    public var restoreIdentifier: String?

    enum Constraints {
        static let restoreIdentifier: Constraint<String> = .text(1...128)
    }
}

/// A report of an event of Core Bluetooth for an app.
public struct BluetoothReport: Record, Equatable {
    public var event = BluetoothEvent.connected
}
