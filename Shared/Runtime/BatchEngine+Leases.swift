import Machines
import Timeline

extension BatchEngine {
    /// Takes the lease of a partition.
    func hold(_ partition: Int, _ lease: Machine.Lease, isSuspicious: Bool) {
        machines[partition].hold(lease, isSuspicious: isSuspicious, now: .now)
        wake()
    }

    func leaseLost(_ partition: Int) {
        machines[partition].leaseLost()
        inboxes[partition].set(nextDue: nil)
    }

    /// The partitions that only a newer program can process.
    var halted: [Int: Halt] {
        Dictionary(
            uniqueKeysWithValues: machines.indices.compactMap { partition in
                machines[partition].halt.map { (partition, $0) }
            })
    }

    /// Ends the halt of a partition: no state is newer than this program any more.
    func resume(_ partition: Int) {
        machines[partition].resume()
        inboxes[partition].progress.resumed()
    }

    /// Called after every membership refresh.
    func guardCommands(_ isOn: Bool, condemned: Set<String>) {
        for partition in machines.indices { machines[partition].commandGuard.turn(isOn, condemned: condemned) }
    }

    /// Reports the result of the poll: whether the cursor is behind the head, and the earliest stored deadline. Another
    /// replica may have written it.
    func note(_ partition: Int, isBehind: Bool, nextDeadline: Instant?) {
        let inbox = inboxes[partition]
        // The poll has reached the database. A batch under way reports its own result.
        if !isBusy[partition] {
            machines[partition].unreachableSince = nil
            inbox.set(isUnreachable: false)
        }
        guard machines[partition].lease != nil else {
            inbox.progress.idle()
            return inbox.set(nextDue: nil)
        }
        if !isBehind { inbox.progress.idle() }
        machines[partition].note(nextDeadline)
        inbox.set(nextDue: machines[partition].nextDue)
        if isBehind { look(partition) }
    }

    /// The state of each partition in this process.
    var states: [PartitionState] {
        machines.indices.map { partition in
            let machine = machines[partition]
            if let halt = machine.halt { return .halted(halt.reason) }
            guard machine.lease != nil else { return .elsewhere }
            if let reason = inboxes[partition].progress.failure { return .failing(reason) }
            return machine.quarantine.trialsLeft > 0 ? .cautious : .following
        }
    }
}
