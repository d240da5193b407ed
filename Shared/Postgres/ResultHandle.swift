import CLibpq
import Glibc

/// Owns one `PGresult`; frees it with the last row that looks into it.
///
/// Sendable though it holds a pointer: a `PGresult` is never written after `PQgetResult` returned it, libpq documents
/// that it may then be read by several threads (section 34.20), and `PQclear` runs in `deinit`, after the last reader.
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

    func columnName(_ column: Int) -> String {
        PQfname(pointer, Int32(column)).map { String(cString: $0) } ?? "\(column)"
    }

    func columnIndex(_ name: String) -> Int? {
        name.withCString { wanted in
            (0..<columnCount).first { column in
                PQfname(pointer, Int32(column)).map { strcmp($0, wanted) == 0 } ?? false
            }
        }
    }
}
