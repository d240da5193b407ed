import Machines
import Records
import Timeline

/// A state as a batch or the sweeper writes it.
struct WrittenForm: Sendable, Equatable {
    /// The machine version of the form.
    var version: Int
    var binary: [UInt8]
    var nextDeadline: Instant?
}

extension Machine {
    /// Returns the state in the form of a version. If an older form can't express it, it has its own form.
    ///
    /// An older form has the earlier one of both machines' deadlines, so that each program finds the aggregate in time.
    ///
    /// - Parameter moment: the time of the write. A deadline of the older machine up to this time has passed: this machine
    ///   has decided about it.
    func written(as form: Int, at moment: Instant) -> WrittenForm {
        guard form < Self.version, let older = downgraded(to: form) else {
            return WrittenForm(version: Self.version, binary: binary, nextDeadline: nextDeadline)
        }
        let later = older.nextDeadline.flatMap { $0 > moment ? $0 : nil }
        return WrittenForm(
            version: form, binary: older.binary, nextDeadline: [nextDeadline, later].compactMap { $0 }.min())
    }
}
