import OrderedCollections
import Contracts
import LifecycleCore
import Scenarios
import Timeline
import TransferCore

// The transfers of apps, and the modelled transfer worker that moves their bytes at the rate of the network.
extension DeviceSimulation {
    private static let session = "background"
    private static let worker = "simulation"
    /// The time from the schedule of an attempt to its response (our choice).
    private static let latency = Interval.milliseconds(300)
    /// The longest time between reports of bytes.
    private static let reportInterval = Interval.seconds(60.0)

    /// Schedules the transfers of an app that begin now.
    mutating func startTransfers(_ start: TransferPlan.Start, of app: Int, _ context: PartitionContext) {
        for (number, plan) in context.plan.scenario.apps[app].transfers.enumerated() where plan.start == start {
            guard apps[app].started[number] < plan.limit ?? .max else { continue }
            apps[app].started[number] += 1
            schedule(.startTransfer(plan: number), of: app, after: .milliseconds(500))
        }
    }

    /// The app opens the session of a plan, and starts a task in it.
    mutating func startTransfer(
        _ number: Int, of index: Int, _ app: ScenarioApp, _ context: inout PartitionContext
    ) throws {
        guard profile.has(.backgroundSessions) else { return }
        let plan = app.transfers[number]
        let session = "\(Self.session)-\(number)"
        try openSession(session, plan, of: app, &context)
        try settle(&context)
        var request = TransferRequest(url: "https://origin.example/\(number)")
        switch plan.kind {
        case .download:
            request.countOfBytesClientExpectsToReceive = plan.size.bytes
            try submit(.download(app: app.id, session: session, request, resumes: true), &context)
        case .upload:
            request.method = "POST"
            let name = "upload-\(number)"
            if transfer.state.apps[app.id]?.files[name] == nil {
                var file = AppFile()
                file.pieces = [StoredPiece(length: plan.size.bytes, name: name)]
                try submit(.storeFile(app: app.id, name: name, file), &context)
                try settle(&context)
            }
            try submit(.upload(app: app.id, session: session, request, .file(name), resumes: true), &context)
        }
    }

    private mutating func openSession(
        _ session: String, _ plan: TransferPlan, of app: ScenarioApp, _ context: inout PartitionContext
    ) throws {
        var configuration = SessionConfiguration()
        configuration.isDiscretionary = plan.isDiscretionary
        configuration.allowsCellularAccess = plan.allowsCellular
        if profile.has(.expensiveNetworkAccess) { configuration.allowsExpensiveNetworkAccess = plan.allowsCellular }
        if profile.has(.lowDataMode) { configuration.allowsConstrainedNetworkAccess = plan.allowsConstrained }
        try submit(.openSession(app: app.id, session: session, configuration), &context)
    }

    mutating func react(to event: TransferEvent, _ context: inout PartitionContext) {
        switch event {
        case .attemptScheduled(let scheduled):
            schedule(.claimAttempt(scheduled.taskKey, epoch: scheduled.epoch), after: Self.latency)
        case .attemptEnded(let ended):
            if attempts[ended.taskKey]?.epoch == ended.epoch { attempts[ended.taskKey] = nil }
        case .taskCompleted(let completed): uploaded[completed.taskKey] = nil
        case .downloadFinished(let finished):
            guard let app = context.appIndexes[finished.taskKey.app] else { return }
            schedule(
                .returnFromDownload(session: finished.taskKey.session, task: finished.taskKey.task), of: app,
                after: Self.answerTime)
        default: break
        }
    }

    // MARK: The worker

    /// Claims a scheduled attempt and gets the response of the server.
    mutating func claim(_ key: TaskKey, _ epoch: Int, _ context: inout PartitionContext) throws {
        guard let task = transfer.state.task(key), task.attempt?.epoch == epoch, let plan = plan(of: key, context)
        else { return }
        let claim = AttemptClaim(key, epoch: epoch, worker: Self.worker)
        guard try submit(.startAttempt(claim), &context) else { return }
        try settle(&context)
        let isUpload = task.kind == .upload
        let size = plan.size.bytes
        let held = try isUpload ? resumeUpload(task, claim, &context) : task.bytesReceived
        if !isUpload {
            var head = ResponseHead()
            head.status = held > 0 ? 206 : 200
            head.acceptsRanges = true
            head.etag = "\"\(size)\""
            head.contentLength = size - held
            if held > 0 { (head.rangeStart, head.completeLength) = (held, size) }
            guard try submit(.receiveResponse(claim, head), &context) else { return }
            try settle(&context)
        }
        var random = draw(.transfers, context)
        let fails = random.holds(plan.failures)
        attempts[key] = SimulatedAttempt(
            epoch: epoch, bytes: held, since: now, size: size, isUpload: isUpload,
            failsAt: fails ? held + (size - held) / 2 : nil)
        scheduleProgress(key, context)
    }

    /// Creates an upload at the origin, or asks the origin how many bytes it has. The origin supports the draft on
    /// resumable uploads.
    ///
    /// - Returns: the number of bytes that need not be sent.
    private mutating func resumeUpload(
        _ task: TransferTask, _ claim: AttemptClaim, _ context: inout PartitionContext
    ) throws -> Int {
        guard task.attempt?.uploadDraft != nil else { return 0 }
        if task.upload == nil { uploaded[claim.taskKey] = 0 }
        let held = uploaded[claim.taskKey] ?? 0
        try submit(
            task.upload == nil
                ? .createUpload(claim, url: task.request.url + "/upload") : .resumeUpload(claim, from: held), &context)
        try settle(&context)
        return held
    }

    /// Reports the bytes of an attempt, and finishes or fails it if it is done.
    mutating func progress(_ key: TaskKey, _ epoch: Int, _ context: inout PartitionContext) throws {
        guard attempts[key]?.epoch == epoch else { return }
        try report(key, &context)
        guard let attempt = attempts[key] else { return }
        let claim = AttemptClaim(key, epoch: epoch, worker: Self.worker)
        if let failsAt = attempt.failsAt, attempt.bytes >= failsAt {
            attempts[key] = nil
            try submit(.fail(claim, total: attempt.isUpload ? 0 : attempt.bytes, .connectionLost), &context)
        } else if attempt.bytes >= attempt.size {
            attempts[key] = nil
            if attempt.isUpload {
                var head = ResponseHead()
                head.status = 200
                head.contentLength = 0
                guard try submit(.receiveResponse(claim, head), &context) else { return }
                try settle(&context)
            }
            let digest = String(repeating: "0", count: 64)
            try submit(.finish(claim, total: attempt.isUpload ? 0 : attempt.size, sha256: digest), &context)
        } else {
            scheduleProgress(key, context)
        }
    }

    /// Reports the bytes of all attempts, before the network changes.
    mutating func reportProgress(_ context: inout PartitionContext) throws {
        let keys = attempts.keys.sorted { ($0.app, $0.session, $0.task) < ($1.app, $1.session, $1.task) }
        for key in keys { try report(key, &context) }
        try settle(&context)
    }

    private mutating func report(_ key: TaskKey, _ context: inout PartitionContext) throws {
        guard var attempt = attempts[key] else { return }
        let rate = rate(context)
        let end = attempt.failsAt ?? attempt.size
        let moved = Int((now - attempt.since).milliseconds) * rate / 1000
        let total = min(end, attempt.bytes + moved)
        let bytes = total - attempt.bytes
        attempt.bytes = total
        attempt.since = now
        attempts[key] = attempt
        guard bytes > 0 else { return }
        context.figures.bytes[network.word.rawValue, default: 0] += bytes
        let claim = AttemptClaim(key, epoch: attempt.epoch, worker: Self.worker)
        if attempt.isUpload {
            uploaded[key] = total
            try submit(.reportSent(claim, total: total), &context)
        } else if total < attempt.size {
            try submit(.report(claim, total: total), &context)
        }
    }

    /// Schedules the next report of an attempt: at its end, or after ``reportInterval``.
    private mutating func scheduleProgress(_ key: TaskKey, _ context: PartitionContext) {
        guard let attempt = attempts[key] else { return }
        let rate = rate(context)
        let left = (attempt.failsAt ?? attempt.size) - attempt.bytes
        // Attempts of equal sessions share no rate: each has that of the network.
        let rest = rate > 0 ? Interval.milliseconds(Int64((left * 1000 + rate - 1) / rate)) : Self.reportInterval
        schedule(
            .progress(key, epoch: attempt.epoch), after: max(.milliseconds(1), min(rest, Self.reportInterval)))
    }

    private func rate(_ context: PartitionContext) -> Int {
        context.plan.scenario.rates.bytesPerSecond(in: network.word)
    }

    private func plan(of key: TaskKey, _ context: PartitionContext) -> TransferPlan? {
        guard let app = context.appIndexes[key.app], let number = Int(key.session.dropFirst(Self.session.count + 1))
        else { return nil }
        let transfers = context.plan.scenario.apps[app].transfers
        return transfers.indices.contains(number) ? transfers[number] : nil
    }
}
