import Contracts
public import EventLog
import Foundation
public import HTTPKit
import HTTPTypes
import Identity
public import Machines
public import Records
import Runtime

extension Commands {
    /// Submits the command of a line of a batch, and answers when it is committed.
    ///
    /// An `Idempotency-Key` counts for each line by its number. So a repeated batch continues where the first one
    /// ended, and each line that was processed gets its first answer.
    ///
    /// - Parameters:
    ///   - line: the number of the line, and its document for the fingerprint.
    ///   - fleet: the fleet to which the device must belong; it answers `not_found` for all others.
    ///   - registers: whether the device may also belong to no fleet yet.
    ///   - answer: renders the document.
    /// - Throws: ``Problem``, the refusal of the machine, or `RuntimeError`.
    public func submit<Line: DeviceLine, Document: Record>(
        _ command: M.Command, of line: (number: Int, document: Line), in fleet: String, _ call: Call,
        registers: Bool = false, answer: @escaping Answering<Document>
    ) async throws -> LineAnswer {
        let caller = try call.context.requireCaller(.operate)
        let idempotency = try call.request.idempotency(
            of: caller, call.context, content: String(decoding: line.document.jsonBytes, as: UTF8.self),
            line: line.number)
        return try await submit(
            command, to: line.document.device, in: fleet, call, idempotency: idempotency, registers: registers,
            answer: answer)
    }

    /// Submits a command about a device of a fleet, and answers when it is committed.
    ///
    /// - Parameters:
    ///   - fleet: the fleet to which the device must belong; it answers `not_found` for all others.
    ///   - registers: whether the device may also belong to no fleet yet.
    ///   - answer: renders the document.
    /// - Throws: ``Problem``, the refusal of the machine, or `RuntimeError`.
    public func submit<Document: Record>(
        _ command: M.Command, to device: String, in fleet: String, _ call: Call, idempotency: Idempotency? = nil,
        registers: Bool = false, answer: @escaping Answering<Document>
    ) async throws -> LineAnswer {
        let submission = Submission<M>(
            key: .device(device), command: command,
            origin: call.context.requester.origin, idempotency: idempotency,
            check: { aggregate in
                let own = (aggregate.state as? any FleetMember)?.fleet
                guard own == fleet || own == nil && registers else {
                    throw Problem.notFound.with(detail: "The fleet has no such device.")
                }
            }, answer: { answer($0, $1)?.jsonBytes ?? [] })
        // The batch keeps its slot while its lines wait.
        let answered = try await runtime.submit(submission)
        var members = answered.body.isEmpty ? [] : try JSON(parsing: answered.body).members ?? []
        // As `Dormouse-Position` of an answer about a single device.
        let position = call.context.incarnation.marked("\(answered.partition):\(answered.offset)")
        members.append(JSON.Member("position", .string(position)))
        return LineAnswer(.ok, members, position: (answered.partition, answered.offset))
    }

    /// Waits until this service has read up to the request's `Dormouse-Position`.
    ///
    /// - Throws: ``Problem``: `invalid_header`, `behind`, `position_beyond_log`.
    public func waitForPosition(_ call: Call) async throws { try await waitForPosition(call.request, call.context) }
}
