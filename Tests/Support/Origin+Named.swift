public import Foundation
public import Machines

extension Origin {
    /// Creates the origin of a command whose events have its id as their correlation id, so that a test finds them.
    public static func named(_ id: UUID = UUID()) -> Origin {
        var origin = Origin(id: id)
        origin.correlation = id
        return origin
    }
}
