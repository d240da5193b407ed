import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Postgres
import Records
import Runtime

extension Problem {
    /// Returns `invalid_query` with all invalid parameters.
    static func query(_ faults: [FieldError]) -> Problem { .invalidQuery.with(fieldErrors: faults) }

    static let notAcceptable = Problem(
        .notAcceptable, "not_acceptable", "Media type is not available")
    static let clockNotVirtual = Problem(.conflict, "clock_not_virtual", "Clock is not virtual")
    static let advanceUnderWay = Problem(
        .serviceUnavailable, "advance_under_way", "Another clock advance is in progress", retryAfter: 1)
    static let notSettled = Problem(.gatewayTimeout, "not_settled", "Services did not settle in time")
    static let databaseUnavailable = Problem(
        .serviceUnavailable, "database_unavailable", "Database is unavailable", retryAfter: 1)
    static let tooMuch = Problem(.serviceUnavailable, "query_too_large", "Query takes too long")

    /// The problems of the routes of the clock.
    static let ofClock: [Problem] = [.clockNotVirtual, .advanceUnderWay, .notSettled, .stopping, .databaseUnavailable]
    /// The problems of queries of the log.
    static let ofLog: [Problem] = [.databaseUnavailable, .tooMuch]
}

/// Runs a query of the log, and converts its errors to problems.
func asking<T>(_ body: () async throws -> T) async throws -> T {
    do { return try await body() } catch let error as LogQueryError {
        switch error {
        case .beyondRetention: throw Problem.beyondRetention.with(detail: error.description)
        case .beyondLog(let position, let head): throw Problem.beyondLog(position, head: head)
        case .foreignPosition:
            throw Problem.invalidQuery.with(
                detail: error.description,
                faults: [FieldError(pointer: "/cursor", detail: "is not a cursor of this feed")])
        }
    } catch let error as BeyondRetention {
        throw Problem.beyondRetention.with(
            detail: error.description,
            faults: [FieldError(pointer: "/at", detail: "must not be before \(error.earliest)")])
    } catch let error as RuntimeError {
        switch error {
        case .newerState: throw Problem.newerProgramNeeded.with(detail: error.description)
        case .malformedState:
            throw Problem.beyondRetention.with(
                detail: "only an older version of the service can read the remaining events")
        default: throw error
        }
    } catch let error as ContractError {
        // During a rolling deploy, another replica may know the event version. No replica can read a malformed event.
        if case .malformed = error { throw error }
        throw Problem.newerProgramNeeded.with(detail: error.description)
    } catch let error as ClockError {
        switch error {
        case .notVirtual: throw Problem.clockNotVirtual.with(detail: error.description)
        case .beyondCalendar:
            throw Problem.invalidDocument.with(fieldErrors: [FieldError(pointer: "/seconds", detail: "\(error)")])
        case .advanceUnderWay: throw Problem.advanceUnderWay
        case .notSettled(let time, let laggards):
            throw Problem.notSettled.with(
                detail: "at \(time): \(error)",
                faults: laggards.map { FieldError(pointer: "/\($0.consumer)", detail: $0.description) })
        }
    } catch let error as PostgresError where error.isServerFault {
        // The pool keeps the error for `/readyz`, and logs PostgreSQL's own message.
        throw Problem.databaseUnavailable
    } catch let error as PostgresError where error.sqlState == "57014" {
        // The role's statement_timeout.
        throw Problem.tooMuch
    }
}
