import EventLog
import Machines
import Postgres
import Synchronization
import Timeline

extension DurableRuntime {
    /// Checks the deadlines when one may be due, and polls the log.
    func tick() async {
        await withDiscardingTaskGroup { sleepers in
            let poll = engine.placement.withLock { $0.pollInterval }
            var plan = TickPlan(poll: poll, glance: PartitionMachine<M>.glanceInterval, now: .now)
            engine.deadlineAlarm.ring()
            for await _ in engine.deadlineAlarm.rings {
                let now = ContinuousClock.now
                let (wait, hasSkips) = plan.begins(at: now) ? await check(&plan, at: now) : (.zero, false)
                guard let end = plan.sleep(at: now, wait: wait, hasSkips: hasSkips) else { continue }
                sleepers.addTask {
                    try? await Task.sleep(until: end, clock: .continuous)
                    self.engine.deadlineAlarm.ring()
                }
            }
            sleepers.cancelAll()
        }
    }

    /// - Returns: the time until the next deadline, and whether there are events to skip.
    private func check(
        _ plan: inout TickPlan, at now: ContinuousClock.Instant
    ) async -> (wait: Duration?, hasSkips: Bool) {
        if plan.isPollDue(at: now) {
            await look()
            plan.polled(at: .now)
        }
        let inboxes = engine.inboxes
        if plan.glances(at: now) {
            for inbox in inboxes where inbox.takesSkips() { engine.look(inbox.partition) }
        }
        let time = clock.now.milliseconds
        let earliest = engine.deadlineAlarm.earliest { inboxes.reduce(.max) { min($0, $1.nextDue) } }
        if earliest <= time {
            for inbox in inboxes where inbox.nextDue <= time { engine.look(inbox.partition) }
        }
        let wait = earliest == .max ? nil : clock.wait(until: Instant(milliseconds: earliest))
        return (wait.map { .milliseconds($0.milliseconds) }, inboxes.contains(where: { $0.hasSkips }))
    }

    /// One query for all partitions, so that an idle suite costs almost nothing.
    private func look() async {
        do {
            let partitions = try await pool.execute(standing, .text(M.name)).decode((Int, Bool, Instant?).self)
            for (partition, isBehind, deadline) in partitions where engine.inboxes.indices.contains(partition) {
                await engine.note(partition, isBehind: isBehind, nextDeadline: deadline)
            }
        } catch {
            // Each partition then looks itself, and logs its own error.
            for partition in engine.inboxes.indices { engine.look(partition) }
        }
    }
}
