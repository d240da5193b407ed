import Contracts
import Machines
import OrderedCollections
import Timeline

// Built-in devices: the machine itself returns from the callbacks of downloads. If the registration says so, it also moves
// the bytes of transfers, at the rate of the network and in suite time. No server gets a request then, and no file has
// bytes.
extension TransferMachine {
    /// The worker in the attempts whose bytes the machine moves.
    public static let builtInWorker = "built-in"

    /// Whether the machine moves the bytes of transfers, so that no server gets a request.
    public var modelsTransfers: Bool { simulate?.transfers != nil }

    /// Returns the time at which the machine has moved all bytes of a task; nil if it moves none.
    func endOfBytes(of task: TransferTask) -> Instant? {
        guard task.isMovedByMachine, let since = task.movingSince else { return nil }
        let rate = bytesPerSecond(task.kind)
        return since + .milliseconds(Int64((task.bytesLeft * 1000 + rate - 1) / rate))
    }

    /// Whether the machine returns from the callbacks of apps.
    fileprivate var answersItself: Bool { !hasClient && simulate?.answersItself == true }

    fileprivate func bytesPerSecond(_ kind: TransferKind) -> Int {
        let shape = NetworkRate.shape(of: network)
        if let rate = simulate?.transfers?.rates?[shape] { return rate }
        let rate = NetworkRate(shape)
        return (kind == .download ? rate.down : rate.up) * 1000 / 8
    }
}

extension TransferTask {
    fileprivate var isMovedByMachine: Bool { attempt?.worker == TransferMachine.builtInWorker }
    /// The time of the last report of the attempt, or its start.
    fileprivate var movingSince: Instant? { progressAt ?? attempts.last?.startedAt }
    fileprivate var bytesMoved: Int { kind == .upload ? bytesSent : bytesReceived }
    /// The bytes of the whole body.
    fileprivate var bytesInAll: Int { ((kind == .upload ? body?.length : bytesExpected) ?? 0).heldToBytes }
    /// The bytes until the end of the attempt.
    fileprivate var bytesLeft: Int { max(0, min(bytesInAll, attempt?.cutAt ?? .max) - bytesMoved) }
    fileprivate var isCut: Bool { attempt?.cutAt.map { $0 < bytesInAll } ?? false }
    /// The bytes that the modelled server of an upload has before an attempt begins.
    fileprivate var bytesAtServer: Int { upload.map { max($0.offset, attempts.last?.to ?? 0) } ?? 0 }
}

extension Decision<TransferMachine> {
    /// Claims the scheduled attempts of a built-in device that moves its bytes itself, and returns from its callbacks.
    mutating func actAsDevice() {
        guard let device = state.simulate else { return }
        if let transfers = device.transfers {
            for (key, session) in state.sessions {
                for task in session.tasks where task.attempt.map({ $0.worker == nil }) ?? false {
                    begin(key.task(task.task), task, transfers)
                }
            }
        }
        guard state.answersItself else { return }
        for (key, _) in state.sessions { returnFromCallbacks(of: key) }
    }

    /// Reports the bytes that have moved until now, before the network changes.
    mutating func reportMovedBytes() {
        for (key, session) in state.sessions {
            for task in session.tasks where task.isMovedByMachine {
                guard let since = task.movingSince else { continue }
                let moved = Int((now - since).milliseconds) * state.bytesPerSecond(task.kind) / 1000
                report(key.task(task.task), task, total: task.bytesMoved + min(moved, task.bytesLeft))
            }
        }
    }

    /// Ends the attempts all of whose bytes have moved, and completes their tasks unless a server has cut the connection.
    mutating func finishMovedTasks() {
        for (key, session) in state.sessions {
            for task in session.tasks where state.endOfBytes(of: task).map({ $0 <= now }) ?? false {
                let taskKey = key.task(task.task)
                report(taskKey, task, total: task.bytesMoved + task.bytesLeft)
                if task.isCut {
                    act(on: taskKey) { rules, claim throws(TransferRefusal) in
                        try rules.fail(claim, total: 0, .connectionLost)
                    }
                    continue
                }
                if task.kind == .upload { respond(taskKey, ResponseHead(bytes: 0, from: 0)) }
                endAttempt(taskKey, .finished)
                complete(taskKey, nil)
            }
        }
    }

    private mutating func begin(_ taskKey: TaskKey, _ task: TransferTask, _ transfers: BuiltInTransfers) {
        guard let attempt = task.attempt else { return }
        let size =
            task.kind == .upload
            ? task.bytesInAll : (task.request.countOfBytesClientExpectsToReceive ?? transfers.bytes).heldToBytes
        let from = task.kind == .upload ? task.bytesAtServer : min(attempt.from, size)
        let cutAt = cut(task.request.url, transfers, from: from, to: size)
        act(on: taskKey) { rules, claim throws(TransferRefusal) in
            try rules.start(claim, cutAt: cutAt)
            if let status = transfers.informationalStatus {
                try rules.receive(claim, informational: InformationalResponse(status: status))
            }
            if attempt.uploadDraft != nil {
                if task.upload == nil {
                    try rules.createUpload(claim, task.request.url + "/upload")
                } else {
                    try rules.resumeUpload(claim, from: from)
                }
            }
        }
        if task.kind == .download { respond(taskKey, ResponseHead(bytes: size, from: from)) }
    }

    /// Returns the byte at which the server cuts the connection of a new attempt; nil if it does not.
    private mutating func cut(_ url: String, _ transfers: BuiltInTransfers, from: Int, to size: Int) -> Int? {
        guard let server = transfers.servers.first(where: { url.hasPrefix($0.url) }), server.failures > 0, from < size
        else { return nil }
        // 53 bits of a random number make a fraction from 0 to 1.
        guard Double(randomNumber() >> 11) * 0x1p-53 < server.failures else { return nil }
        return from + (size - from) / 2
    }

    private mutating func respond(_ taskKey: TaskKey, _ head: ResponseHead) {
        act(on: taskKey) { rules, claim throws(TransferRefusal) in try rules.receive(claim, head) }
    }

    private mutating func report(_ taskKey: TaskKey, _ task: TransferTask, total: Int) {
        act(on: taskKey) { rules, claim throws(TransferRefusal) in
            if task.kind == .upload {
                try rules.reportSent(claim, total: total)
            } else {
                try rules.report(claim, total: total)
            }
        }
    }

    /// Acts as the worker of a task's attempt. The machine claims each attempt at once, so no rule refuses it.
    private mutating func act(
        on taskKey: TaskKey, _ body: (inout Self, AttemptClaim) throws(TransferRefusal) -> Void
    ) {
        guard let attempt = state.task(taskKey)?.attempt else { return }
        let claim = AttemptClaim(taskKey, epoch: attempt.epoch, worker: TransferMachine.builtInWorker)
        do throws(TransferRefusal) { try body(&self, claim) } catch { return }
    }

    private mutating func returnFromCallbacks(of key: SessionKey) {
        while let finishing = state[key]?.finishing, state.apps[key.app]?.state.isRunning == true {
            do throws(TransferRefusal) { try returnFromCallback(key, finishing.task) } catch { return }
            tell(key)
        }
    }
}

extension ResponseHead {
    /// The head of a successful response with a part of a modelled file.
    fileprivate init(bytes size: Int, from start: Int) {
        self.init()
        status = start > 0 ? 206 : 200
        acceptsRanges = true
        etag = "\"\(size)\""
        contentLength = size - start
        completeLength = size
        rangeStart = start > 0 ? start : nil
    }
}
