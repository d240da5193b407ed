import Foundation

/// The living members of a consumer at the last look.
struct Membership: Sendable, Equatable {
    /// The number of members besides this one.
    var others = 0
    /// The oldest and the newest machine version of all members.
    var oldest = 0
    var newest = 0
    /// The newest form of the stored states.
    var newestState = 0
}

/// A lease of this process, with the forms of the partition's states.
struct OwnedPartition: Sendable, Equatable {
    var owner: UUID
    var epoch: Int
    /// The version of the form in which states are written.
    var form: Int
    /// No state has a newer form.
    var newestState: Int
    /// The number of changes of the form under this lease.
    var changes = 0

    /// Whether it is the same lease with the same form, without a change in between.
    func isSame(as other: OwnedPartition) -> Bool { epoch == other.epoch && changes == other.changes }
}
