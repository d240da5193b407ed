/// The reason why a stream of the log ended.
public enum TailError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reader exceeded ``LogTail/readerLimit`` or ``LogTail/readerBytes``. It may resume after its last event.
    case slowReader
    /// Retention dropped the next events during the read. The reader must start again.
    case beyondRetention
    /// The log ends before the position of the reader. The reader must start again.
    case eventsLost

    public var description: String {
        switch self {
        case .slowReader: "the reader was too slow and was disconnected; resume after the last event"
        case .eventsLost: "the log has lost events of this stream; read the state and start again"
        case .beyondRetention: "retention dropped the next events; read the state and start again"
        }
    }
}
