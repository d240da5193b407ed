import DequeModule
import Records
import Scenarios
import Timeline

/// The devices of a run. It triggers due devices, queues their requests for the workers, and delivers orders,
/// notifications and results to them. It makes no requests.
actor DevicePool {
    private struct Phone {
        var device: SimulatedDevice
        var queues: [ServiceName: RequestQueue] = [:]
        var due = Instant.epoch
        var isReady = false
        var calls = 0
        /// The newest version of the device's state in a response.
        var acknowledged = 0
        /// The number of callbacks in responses and in orders.
        var calledByAnswers = 0
        var calledByOrders = 0
    }

    private let clock: RunClock
    private let statistics: RunStatistics
    private let run: String
    private let tokens: PushTokens
    private var phones: [Phone]
    private let indices: [String: Int]
    private var ready: Deque<RequestQueueID> = []
    private var delayed: [(due: Instant, queue: RequestQueueID)] = []
    private var idle: [CheckedContinuation<Job?, Never>] = []
    private var isClosed = false
    /// Whether the order stream is open.
    private(set) var hearsOrders = false
    private var random: SeededRandom

    /// - Parameters:
    ///   - tokens: receives the tokens of apps that register.
    ///   - run: a prefix that makes the idempotency keys of this run unique.
    init(
        _ devices: [SimulatedDevice], tokens: PushTokens, clock: RunClock, statistics: RunStatistics, run: String,
        seed: UInt64
    ) {
        self.tokens = tokens
        phones = devices.map { Phone(device: $0) }
        indices = Dictionary(uniqueKeysWithValues: devices.enumerated().map { ($1.identifier, $0) })
        self.clock = clock
        self.statistics = statistics
        self.run = run
        random = SeededRandom(seed: seed ^ 0x6a09_e667_f3bc_c908)
    }

    // MARK: Time

    /// Runs the devices that are due, and readies the retries that are due.
    func tick() {
        let now = clock.now
        for index in phones.indices where phones[index].isReady && phones[index].due <= now {
            let actions = phones[index].device.decide(now)
            enqueue(actions, of: index, at: now)
        }
        let again = delayed.filter { $0.due <= now }
        delayed.removeAll { $0.due <= now }
        for entry in again { list(entry.queue) }
    }

    /// Starts a device. First its user opens each app once.
    func begin(_ index: Int) {
        phones[index].device.tryApps(from: clock.now)
        phones[index].isReady = true
        settle(index)
    }

    /// Records the registration of a device. Earlier orders belong to another run.
    func registered(_ index: Int, at position: Position?) {
        phones[index].device.begin(after: position)
    }

    private func settle(_ index: Int) {
        phones[index].due = phones[index].device.nextDue ?? Instant(milliseconds: .max)
    }

    // MARK: Input of devices

    func deliver(_ order: Order) {
        guard let index = indices[order.device] else { return }
        let isNew = phones[index].device.handle(order, at: clock.now)
        if isNew { phones[index].calledByOrders += order.callbacks.count }
        statistics.order(order, isNew: isNew)
        settle(index)
    }

    func hearOrders(_ hears: Bool) { hearsOrders = hears }

    func deliver(_ notification: DeliveredNotification, to index: Int) {
        phones[index].device.receive(notification, at: clock.now)
        statistics.note { $0.notifications += 1 }
        settle(index)
    }

    func isOnline(_ index: Int) -> Bool { phones[index].device.isOnline(at: clock.now) }

    // MARK: Requests of devices

    private func enqueue(_ actions: [Action], of index: Int, at now: Instant) {
        for action in actions {
            let service = action.call(from: "", to: TransferAddresses()).service
            phones[index].calls += 1
            let key = "\(run)-\(index)-\(phones[index].calls)"
            phones[index].queues[service, default: RequestQueue()].jobs.append(
                Job(device: index, action: action, idempotencyKey: key, firstTried: now))
            let queue = RequestQueueID(device: index, service: service)
            if phones[index].queues[service]?.isListed == false { list(queue) }
        }
        settle(index)
    }

    private func list(_ queue: RequestQueueID) {
        phones[queue.device].queues[queue.service]?.isListed = true
        guard phones[queue.device].queues[queue.service]?.isBusy == false else { return }
        ready.append(queue)
        if !idle.isEmpty, let job = takeReady() { idle.removeLast().resume(returning: job) }
    }

    /// Waits for the next request. Returns nil when the run is over.
    func next() async -> Job? {
        if let job = takeReady() { return job }
        if isClosed { return nil }
        return await withCheckedContinuation { idle.append($0) }
    }

    private func takeReady() -> Job? {
        while let id = ready.popFirst() {
            var queue = phones[id.device].queues[id.service] ?? RequestQueue()
            while let job = queue.jobs.popFirst() {
                // Code of an app that has stopped since must not act.
                guard phones[id.device].device.mayPerform(job.action) else { continue }
                queue.isBusy = true
                phones[id.device].queues[id.service] = queue
                return job
            }
            queue.isListed = false
            phones[id.device].queues[id.service] = queue
        }
        return nil
    }

    /// Returns the request of a job.
    func call(of job: Job, to transfer: TransferAddresses) -> Call {
        job.action.call(from: phones[job.device].device.identifier, to: transfer)
    }

    /// Passes the result of a request to its device.
    func finish(_ job: Job, _ service: ServiceName, _ outcome: Outcome) {
        let now = clock.now
        if case .done(let document, _) = outcome, service == .lifecycle {
            phones[job.device].acknowledged = max(phones[job.device].acknowledged, document["version"]?.int ?? 0)
            phones[job.device].calledByAnswers += document["callbacks"]?.items?.count ?? 0
        }
        if case (.register(let app), .done(let document, _)) = (job.action, outcome),
            let token = document["token"]?.string
        {
            tokens.add(PushToken(token: token, topic: app))
        }
        if case (.joinChannel(let app), .done(let document, _)) = (job.action, outcome),
            let token = document["token"]?.string
        {
            tokens.add(PushToken(token: token, topic: app + ".voip-ptt", isOfChannel: true))
        }
        let before = phones[job.device].device.bytesReceived
        let actions = phones[job.device].device.learn(outcome, of: job.action, at: now)
        let received = phones[job.device].device.bytesReceived - before
        if received > 0 { statistics.note { $0.bytes += received } }
        phones[job.device].queues[service]?.isBusy = false
        phones[job.device].queues[service]?.isListed = false
        enqueue(actions, of: job.device, at: now)
        let queue = phones[job.device].queues[service]
        if queue?.jobs.isEmpty == false, queue?.isListed == false {
            list(RequestQueueID(device: job.device, service: service))
        }
    }

    /// Schedules a retry of a failed request, before all others of its queue.
    ///
    /// - Returns: false if the time for retries is over.
    func tryAgain(_ job: Job, _ service: ServiceName, after asked: Double?) -> Bool {
        let now = clock.now
        guard now - job.firstTried < Backoff.patience else { return false }
        var job = job
        let wait = Backoff.wait(attempts: job.attempts, asked: asked, &random)
        job.attempts += 1
        phones[job.device].queues[service]?.jobs.prepend(job)
        phones[job.device].queues[service]?.isBusy = false
        phones[job.device].queues[service]?.isListed = true
        delayed.append((now + wait, RequestQueueID(device: job.device, service: service)))
        return true
    }

    /// Stops new work. Requests in progress and their retries continue.
    func pause() {
        for index in phones.indices {
            phones[index].isReady = false
            for service in phones[index].queues.keys {
                phones[index].queues[service]?.jobs.removeAll { $0.attempts == 0 }
            }
        }
    }

    /// Whether no request is queued or in progress, and no callback is missing.
    func isQuiet() -> Bool {
        (!hearsOrders || missingCallbacks() == 0)
            && phones.allSatisfy { $0.queues.values.allSatisfy { !$0.isBusy && $0.jobs.isEmpty } }
    }

    /// Ends the run. Waiting workers get nil.
    func close() {
        pause()
        isClosed = true
        idle.forEach { $0.resume(returning: nil) }
        idle = []
    }

    // MARK: Results

    /// Returns the number of apps in each state.
    func states() -> [String: Int] {
        var states: [String: Int] = [:]
        for phone in phones where phone.calls > 0 {
            for app in phone.device.apps { states[app.state.rawValue, default: 0] += 1 }
        }
        return states
    }

    /// Returns the number of callbacks that responses contain and orders do not.
    func missingCallbacks() -> Int {
        phones.reduce(0) { $0 + max(0, $1.calledByAnswers - $1.calledByOrders) }
    }

    /// Returns the newest acknowledged version of the state of each device.
    func acknowledged() -> [(device: String, version: Int)] {
        phones.filter { $0.acknowledged > 0 }.map { ($0.device.identifier, $0.acknowledged) }
    }
}
