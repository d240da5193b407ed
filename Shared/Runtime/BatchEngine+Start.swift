import EventLog
import Machines
import Synchronization

// The choice of the partitions that start a batch.
extension BatchEngine {
    func start(_ tasks: inout DiscardingTaskGroup) {
        for step in resumptions { tasks.addTask { await self.runAlone(step, isTrial: false) } }
        resumptions = []
        let now = ContinuousClock.now
        let placement = placement.withLock { $0 }
        let interval = pace.interval(at: now)
        var shared: [(partition: Int, plan: BatchPlan)] = []
        var commands = 0
        var leftOut: Int?
        let (first, count) = (firstPartition, machines.count)
        for partition in machines.indices.lazy.map({ (first + $0) % count }) where !isBusy[partition] {
            let inbox = inboxes[partition]
            if inbox.takesLook() { machines[partition].look(now: now) }
            let hasCommands = !inbox.queue.isEmpty
            guard hasCommands || machines[partition].takesLog else { continue }
            let isSuspect = hasCommands && isNextSuspect(partition)
            if machines[partition].mayShare, !isSuspect {
                let shard = placement.shard(of: partition)
                let nextLook = lastLooks[shard].map { $0 + interval } ?? now
                let isFull =
                    sharedTransactions >= limits.transactions || shared.count >= limits.partitions
                    || commands >= limits.commands
                    || shared.first.map { placement.shard(of: $0.partition) != shard } ?? false
                guard !isFull, hasCommands || machines[partition].isBehind || nextLook <= now else {
                    if !hasCommands, nextLook > now {
                        setAlarm(at: nextLook, &tasks)
                    } else {
                        leftOut = leftOut ?? partition
                    }
                    continue
                }
            }
            guard let plan = machines[partition].plan(hasCommands: hasCommands, nextIsSuspect: isSuspect) else {
                continue
            }
            if plan.isAlone {
                if let step = begin(partition, plan) {
                    tasks.addTask { await self.runAlone(step, isTrial: plan.isTrial) }
                }
            } else {
                shared.append((partition, plan))
                commands += inbox.queue.count
            }
        }
        startShared(shared, placement, now: now, &tasks)
        guard let leftOut else { return }
        firstPartition = leftOut
        if sharedTransactions < limits.transactions { wake() }
    }

    private func startShared(
        _ shared: [(partition: Int, plan: BatchPlan)], _ placement: LogPlacement, now: ContinuousClock.Instant,
        _ tasks: inout DiscardingTaskGroup
    ) {
        guard let first = shared.first else { return }
        // Other partitions with commands would put off the looks of the rest for ever.
        let isPaced = shared.contains { $0.plan.log != nil && inboxes[$0.partition].queue.isEmpty }
        if isPaced { lastLooks[placement.shard(of: first.partition)] = now }
        // The partitions share the time for decisions too, because they hold each other's locks.
        let portion = max(.milliseconds(2), .milliseconds(25) / shared.count)
        let steps = shared.compactMap { partition, plan in
            var plan = plan
            plan.portion = portion
            return begin(partition, plan)
        }
        sharedTransactions += 1
        tasks.addTask { await self.runShared(steps, isPaced: isPaced) }
    }

    private func begin(_ partition: Int, _ plan: BatchPlan) -> Step? {
        let guarded = machines[partition].commandGuard
        let taken =
            guarded.suspects.isEmpty
            ? inboxes[partition].queue.take(plan.commands)
            : inboxes[partition].queue.take(plan.commands) { guarded.isSuspect($0.name) }
        callers[partition] = taken
        if plan.log != nil { inboxes[partition].looked() }
        isBusy[partition] = true
        return handle(partition, .begin(plan, taken.map { $0.submission }))
    }

    private func isNextSuspect(_ partition: Int) -> Bool {
        let guarded = machines[partition].commandGuard
        guard !guarded.suspects.isEmpty else { return false }
        return inboxes[partition].queue.isFirst { guarded.isSuspect($0.name) }
    }

    private func setAlarm(at next: ContinuousClock.Instant, _ tasks: inout DiscardingTaskGroup) {
        guard !isAlarmSet else { return }
        isAlarmSet = true
        tasks.addTask {
            try? await Task.sleep(until: next, clock: .continuous)
            await self.alarm()
        }
    }

    private func alarm() {
        isAlarmSet = false
        wake()
    }
}
