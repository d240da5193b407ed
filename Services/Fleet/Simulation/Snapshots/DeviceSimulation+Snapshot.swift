import Contracts
import HeapModule
import LifecycleCore
import OrderedCollections
import Scenarios
import Timeline
import TransferCore

// A device in a snapshot.
extension DeviceSimulation {
    /// The device for a snapshot, between two steps.
    ///
    /// - Parameter due: the time of its next step in the order of the partition.
    func stored(due: Instant?) -> StoredDevice {
        var stored = StoredDevice()
        stored.activeFaults = activeFaults.sorted()
        stored.apps = apps.map { StoredApp($0) }
        for (id, push) in awaited.sorted(by: { $0.key < $1.key }) { stored.awaited[id] = StoredAwaitedPush(push) }
        stored.check = check
        stored.commands = commands
        stored.continuedTasks = continuedTasks
        stored.draws = draws
        stored.due = due
        stored.fetch = fetch.stored
        stored.hangingTasks = hangingTasks.sorted()
        stored.isConnecting = isConnecting
        stored.lifecycle = lifecycle.stored
        stored.nextEvent = passedEvents
        stored.nextPush = nextPush
        stored.now = now
        stored.plannedNetwork = plannedNetwork
        stored.profile = profile.name
        stored.push = push.stored
        stored.scheduled = scheduled
        stored.trails = trails.stored
        stored.transfer = transfer.stored
        stored.transferStarts = transferStarts.map { StoredTransferStart(at: $0.value, task: $0.key) }
            .sorted { $0.task.precedes($1.task) }
        stored.uses = uses
        stored.works = works.unordered.sorted().map { StoredWork($0) }
        return stored
    }

    /// Continues from a snapshot. The device is new.
    mutating func restore(_ stored: StoredDevice, _ policies: Policies) throws(SnapshotError) {
        guard stored.apps.count == apps.count, stored.nextPush <= pushes.count else { throw .malformed }
        activeFaults = Set(stored.activeFaults)
        apps = stored.apps.map(\.app)
        awaited = Dictionary(uniqueKeysWithValues: stored.awaited.map { ($0.key, $0.value.push) })
        commands = stored.commands
        continuedTasks = stored.continuedTasks
        draws = stored.draws
        if check != nil {
            guard let stored = stored.check else { throw .withoutChecks }
            check = stored
        }
        fetch.restore(stored.fetch, key: key)
        hangingTasks = Set(stored.hangingTasks)
        isConnecting = stored.isConnecting
        lifecycle.restore(stored.lifecycle, key: key)
        while passedEvents < stored.nextEvent {
            guard nextEvent != nil else { throw .malformed }
            nextEvent = timeline.next()
            passedEvents += 1
        }
        nextPush = stored.nextPush
        now = stored.now
        plannedNetwork = stored.plannedNetwork
        profile = policies.lifecycle[stored.profile]
        push.restore(stored.push, key: key)
        scheduled = stored.scheduled
        trails.restore(stored.trails)
        transfer.restore(stored.transfer, key: key)
        movingNetwork = transfer.state.network
        transferStarts = Dictionary(stored.transferStarts.map { ($0.task, $0.at) }) { first, _ in first }
        uses = stored.uses
        works = Heap()
        for work in stored.works {
            guard let work = work.work, work.app.map({ apps.indices.contains($0) }) ?? true else { throw .malformed }
            works.insert(work)
        }
    }
}

extension StoredApp {
    fileprivate init(_ app: SimulatedApp) {
        self.init()
        (state, stateSince, run, isLaunching) = (app.state, app.stateSince, app.run, app.isLaunching)
        (token, pushToTalkToken, voipToken, started) = (app.token, app.pushToTalkToken, app.voipToken, app.started)
    }

    fileprivate var app: SimulatedApp {
        SimulatedApp(
            state: state, stateSince: stateSince, run: run, isLaunching: isLaunching, token: token,
            pushToTalkToken: pushToTalkToken, voipToken: voipToken, started: started)
    }
}

extension StoredAwaitedPush {
    fileprivate init(_ push: AwaitedPush) {
        self.init()
        (sentAt, app, content) = (push.sentAt, push.app, push.content)
        (isReceived, isDelivered) = (push.isReceived, push.isDelivered)
    }

    fileprivate var push: AwaitedPush {
        AwaitedPush(sentAt: sentAt, app: app, content: content, isReceived: isReceived, isDelivered: isDelivered)
    }
}

extension TaskKey {
    fileprivate func precedes(_ other: TaskKey) -> Bool {
        (app, session, task) < (other.app, other.session, other.task)
    }
}
