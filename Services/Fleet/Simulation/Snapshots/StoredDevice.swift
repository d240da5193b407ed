import Contracts
import Foundation
import OrderedCollections
import Records
import Reports
import Scenarios
import Timeline

/// An app of a device in a snapshot.
struct StoredApp: Record {
    var isLaunching = false
    var pushToTalkToken: String?
    var run = 0
    var started: [Int] = []
    var state = AppState.notRunning
    var stateSince = Instant.epoch
    var token: String?
    var voipToken: String?
}

/// A sent push that has not arrived, in a snapshot.
struct StoredAwaitedPush: Record {
    var app = 0
    var content = Send.Content.alert
    var isDelivered = false
    var isReceived = false
    var sentAt = Instant.epoch
}

/// The start of a transfer in a snapshot.
struct StoredTransferStart: Record {
    var at = Instant.epoch
    var task = TaskKey.placeholder
}

/// A device in a snapshot. The plan of the scenario has the rest.
struct StoredDevice: Record {
    var activeFaults: [Int] = []
    var apps: [StoredApp] = []
    var awaited: OrderedDictionary<String, StoredAwaitedPush> = [:]
    /// The memory of the checks; nil without checks.
    var check: DeviceCheck?
    var commands = 0
    var continuedTasks = 0
    var draws = 0
    /// The time of the next step in the order of the partition; nil if there is none.
    var due: Instant?
    var fetch = StoredFetch()
    var hangingTasks: [String] = []
    var isConnecting = false
    var lifecycle = StoredLifecycle()
    /// The number of used events of the person's plan.
    var nextEvent = 0
    var nextPush = 0
    var now = Instant.epoch
    var plannedNetwork = NetworkText(.none)
    var profile = ProfileName.placeholder
    var push = StoredPush()
    var scheduled = 0
    var trails = StoredTrails()
    var transfer = StoredTransfer()
    var transferStarts: [StoredTransferStart] = []
    var uses = 0
    var works: [StoredWork] = []
}
