import EventLog
import Foundation
import Postgres
import Records
import TestSupport
import Testing

@testable import OpsService

/// The queries of the provided dashboards match the views.
@Suite("Grafana dashboards", .tags(.database), .timeLimit(.minutes(2))) struct GrafanaTests {
    private static let folder = Repository.file("deploy/grafana/dashboards")

    /// Returns the SQL queries with their dashboard and panel.
    private func queries() throws -> [(place: String, sql: String)] {
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "json" }.flatMap { file in
            let dashboard = try JSON(parsing: Array(try Data(contentsOf: file)))
            return (dashboard["panels"]?.items ?? []).flatMap { panel in
                (panel["targets"]?.items ?? []).compactMap { target in
                    target["rawSql"]?.string.map { ("\(file.lastPathComponent) \(panel["title"]?.string ?? "")", $0) }
                }
            }
        }
    }

    @Test func `every query runs as the role of its data source`() async throws {
        let queries = try queries()
        try #require(queries.count >= 8)
        try await OpsFixture.run { fixture in
            try await fixture.append("lifecycle.app.woken", to: "d1", app: "mail", data: #"{"reason":"push"}"#)
            try await fixture.count()
            let options = try ConnectionOptions(url: fixture.url + LogRoles.standard.dashboards, target: .any)
            let pool = ConnectionPool(options, size: 1, logger: fixture.logger)
            for (place, sql) in queries {
                let query = sql.replacing(
                    "$__timeFilter(time)", with: "time BETWEEN now() - interval '1 hour' AND now() + interval '1 hour'")
                #expect(!query.contains("$__"), "\(place): a macro that this test does not know")
                do { _ = try await pool.execute(Query(Statement(query))) } catch { Issue.record("\(place): \(error)") }
            }
            await pool.close()
        }
    }
}
