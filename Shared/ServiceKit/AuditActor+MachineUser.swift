public import EventLog
import Foundation

extension AuditActor {
    /// The user of the machine, who runs a command. A container may have no name for its user.
    public static var machineUser: AuditActor {
        let user = NSUserName()
        return AuditActor(.commandLine, user.isEmpty ? nil : user)
    }
}
