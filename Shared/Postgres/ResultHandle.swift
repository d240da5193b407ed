import CLibpq
import Glibc

/// The owner of one `PGresult`, which it frees after the last row that refers to it.
///
/// `@unchecked Sendable`: a `PGresult` does not change after `PQgetResult`, and libpq documents that several threads
/// may read it (section 34.20). `PQclear` runs in `deinit`, after the last reader.
final class ResultHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    let rowCount: Int
    let columnCount: Int
    let affected: Int
    let tag: String

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        rowCount = Int(PQntuples(pointer))
        columnCount = Int(PQnfields(pointer))
        affected = Int(atoll(PQcmdTuples(pointer)))
        tag = String(cString: PQcmdStatus(pointer))
    }

    deinit { PQclear(pointer) }

    static func columnName(_ result: OpaquePointer, _ column: Int32) -> String {
        PQfname(result, column).map { String(cString: $0) } ?? "\(column)"
    }
}
