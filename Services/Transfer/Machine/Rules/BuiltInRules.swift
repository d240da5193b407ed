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

    /// Returns the time at which the machine has moved all bytes of a task; nil if it moves none.
    func endOfBytes(of task: TransferTask) -> Instant? {
        guard task.isMovedByMachine, let since = task.movingSince else { return nil }
        let rate = bytesPerSecond(task.kind)
        return since + .milliseconds(Int64((task.bytesLeft * 1000 + rate - 1) / rate))
    }

    fileprivate func bytesPerSecond(_ kind: TransferKind) -> Int {
        let rate = NetworkRate(network)
        return (kind == .download ? rate.down : rate.up) * 1000 / 8
    }
}

extension TransferTask {
    fileprivate var isMovedByMachine: Bool { attempt?.worker == TransferMachine.builtInWorker }
    /// The time of the last report of the attempt, or its start.
    fileprivate var movingSince: Instant? { progressAt ?? attempts.last?.startedAt }
    fileprivate var bytesMoved: Int { kind == .upload ? bytesSent : bytesReceived }
    fileprivate var bytesLeft: Int {
        max(0, ((kind == .upload ? body?.length : bytesExpected) ?? 0).heldToBytes - bytesMoved)
    }
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
        guard !state.hasClient else { return }
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

    /// Completes the tasks all of whose bytes have moved.
    mutating func finishMovedTasks() {
        for (key, session) in state.sessions {
            for task in session.tasks where state.endOfBytes(of: task).map({ $0 <= now }) ?? false {
                let taskKey = key.task(task.task)
                report(taskKey, task, total: task.bytesMoved + task.bytesLeft)
                if task.kind == .upload { respond(taskKey, ResponseHead(bytes: 0, from: 0)) }
                endAttempt(taskKey, .finished)
                complete(taskKey, nil)
            }
        }
    }

    private mutating func begin(_ taskKey: TaskKey, _ task: TransferTask, _ transfers: BuiltInTransfers) {
        guard let attempt = task.attempt else { return }
        let claim = AttemptClaim(taskKey, epoch: attempt.epoch, worker: TransferMachine.builtInWorker)
        // The attempt has no worker yet, so nothing refuses the claim.
        do throws(TransferRefusal) {
            try start(claim)
            if let status = transfers.informationalStatus {
                try receive(claim, informational: InformationalResponse(status: status))
            }
        } catch { return }
        guard task.kind == .download else { return }
        let size = task.request.countOfBytesClientExpectsToReceive ?? transfers.bytes
        respond(taskKey, ResponseHead(bytes: size.heldToBytes, from: min(attempt.from, size.heldToBytes)))
    }

    private mutating func respond(_ taskKey: TaskKey, _ head: ResponseHead) {
        guard let attempt = state.task(taskKey)?.attempt else { return }
        let claim = AttemptClaim(taskKey, epoch: attempt.epoch, worker: TransferMachine.builtInWorker)
        do throws(TransferRefusal) { try receive(claim, head) } catch { return }
    }

    private mutating func report(_ taskKey: TaskKey, _ task: TransferTask, total: Int) {
        guard let attempt = task.attempt else { return }
        let claim = AttemptClaim(taskKey, epoch: attempt.epoch, worker: TransferMachine.builtInWorker)
        do throws(TransferRefusal) {
            if task.kind == .upload { try reportSent(claim, total: total) } else { try report(claim, total: total) }
        } catch { return }
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
