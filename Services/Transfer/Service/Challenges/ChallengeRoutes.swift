import Contracts
import Hummingbird
import Machines
import OrderedCollections
import Records
import ServiceKit
import TransferMachine

/// Where apps answer challenges.
struct ChallengeRoutes: Sendable {
    let routes: TransferRoutes
    let credentials: CredentialTable

    func add(to table: inout RouteTable) {
        table.add(
            .post, TransferRoutes.sessions + "/{identifier}/challenges/{challenge}",
            "Answers a challenge; the credential is kept out of the log", request: ChallengeAnswer.self,
            response: TaskDocument.self, problems: [.credentialMismatch]
        ) { try await answer($0, $1) }
    }

    private func answer(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let answer = try await request.document(as: ChallengeAnswer.self)
        try answer.requireSense()
        let (app, session) = (try context.parameters.identifier("app"), try context.parameters.identifier("identifier"))
        let challenge = try context.parameters.identifier("challenge")
        let key = AggregateKey.device(try context.parameters.identifier("device"))
        let (state, _) = try await routes.read(request, context)
        let task = state.sessions[session]?.tasks.first { $0.challenge?.id == challenge }
        if let credential = answer.credential, let asked = task?.challenge, state.sessions[session]?.app == app {
            _ = try context.requireCaller(.operate)
            guard credential.answers(asked.challenge) else { throw Problem.credentialMismatch }
            // Before the machine knows of it: a mover that goes on with it finds it there.
            try await credentials.store(credential, for: key, challenge)
        }
        return try await routes.commands.submit(
            .answerChallenge(app: app, session: session, id: challenge, answer.disposition), to: key, request, context
        ) { aggregate, _ in
            task.flatMap { aggregate.state.task(TaskPlace(app: app, session: session, task: $0.task)) }.map {
                TaskDocument($0).jsonBytes
            } ?? []
        }
    }
}
