import Contracts
import OrderedCollections
import Records
import TransferCore

/// A session with its tasks.
struct SessionDocument: Record {
    var app = ""
    var configuration: Flattened<SessionConfiguration> = SessionConfiguration()
    var identifier = ""
    var isAttached = false
    var isInvalidated = false
    /// The process that has created the session.
    var process = SessionProcess.app
    /// Wakes for the session since the app was last in the foreground; they delay tasks that start in a wake.
    var relaunches = 0
    var tasks: [TaskDocument] = []
    var wake = BackgroundSession.WakeState.none

    init(_ key: SessionKey, _ session: BackgroundSession) {
        identifier = key.session
        app = key.app
        isAttached = session.isAttached
        isInvalidated = session.isInvalidated
        wake = session.wake
        process = session.process
        relaunches = session.relaunches
        configuration = session.configuration
        tasks = session.tasks.map(TaskDocument.init)
    }
}
