import Foundation
import Logging
import Postgres
import Records
import ServiceKit
import TestSupport
import Testing

/// The readiness of a running service, and its report about the database.
@Suite("Readiness of a running service", .tags(.database, .processes), .timeLimit(.minutes(5))) struct ReadinessTests {
    @Test func `a failing database is reported and leaves the service ready`() async throws {
        let log = LogLines()
        let service = try await CounterService.prepare().logging(to: log)
        try await service.run { () async throws in
            #expect(try await service.add(1, to: "d1").status == 200)
            try await service.breakStatements()
            let refused = try await service.add(1, to: "d1")
            #expect(refused.status == 503 && refused.headers["retry-after"] == "1", "\(refused)")
            try await eventually(within: 20, describe: "readyz reports the failing database") {
                try await service.check("database") == "failing"
            }
            let answer = try await service.send("GET", "/readyz", key: nil)
            #expect(answer.status == 200 && answer.json["status"] == "ready", "\(answer.body)")
            #expect(answer.json["errors"]?[0]?["detail"]?.string?.contains("58P01") == true, "\(answer.body)")
            #expect(!answer.body.contains("plpgsql.so"), "only the log has the server's message")
            let metrics = try await service.send("GET", "/metrics", key: nil).body
            #expect(metrics.contains(#"dormouse_check_failing{check="database"} 1"#))
            let told = log.all.filter { $0.contains("58P01: could not load library plpgsql.so") }
            #expect(told.contains { $0.contains("statement: SELECT bus.expect(p.partition") }, "\(log.all)")

            try await service.mendStatements()
            try await eventually(within: 20, describe: "the database works again") {
                try await service.check("database") == "ok"
            }
            #expect(try await service.add(1, to: "d1").status == 200)
            let after = try await service.send("GET", "/metrics", key: nil).body
            #expect(after.contains(#"dormouse_check_failing{check="database"} 0"#))
        }
        await service.pool.close()
    }

    /// Anybody may ask for the readiness, so it costs no query.
    @Test func `readyz runs no check, and answers while one does not end`() async throws {
        let calls = Tally()
        let gate = Signal<Void>()
        let check = HealthCheck("database") {
            calls.add()
            if calls.count > 1 { try? await gate.value() }
            return nil
        }
        try await TestService.run(checks: [check]) { service in
            try await calls.reaches(2)
            // A verdict is valid for 15 s.
            for _ in 0..<5 { #expect(try await service.send("GET", "/readyz").status == 200) }
            #expect(calls.count == 2)
            gate.fire()
        }
    }

    @Test func `no answer reveals the database's address`() async throws {
        let cluster = try await PrivateCluster.make()
        let service = try await CounterService.prepare(on: cluster)
        try await service.run { () async throws in
            try await cluster.stop(.fast)
            try await eventually(within: 20, describe: "readyz reports the failing database") {
                try await service.check("database") == "failing"
            }
            let answer = try await service.send("GET", "/readyz", key: nil)
            #expect(answer.status == 200, "another replica would not do better")
            for secret in [cluster.socketDirectory, "\(cluster.port)", "/tmp", "test_"] {
                #expect(!answer.body.contains(secret), "\(secret): \(answer.body)")
            }
            let refused = try await service.add(1, to: "d1")
            #expect(refused.status == 503 && refused.code == "database_unavailable")
            #expect(refused.headers["retry-after"] == "1")
        }
        await service.pool.close()
        try await cluster.destroy()
    }

    @Test func `a state of a newer program gets 503, and a newer replica makes this one not ready`() async throws {
        let service = try await CounterService.prepare()
        try await service.run { () async throws in
            #expect(try await service.add(1, to: "d1").status == 200)
            // Another replica writes the state: this service's cache is out of date.
            try await service.sql(
                """
                UPDATE counter.states SET machine_version = machine_version + 1;
                UPDATE bus.cursors SET last_batch = gen_random_uuid(), newest_state = 2
                """)
            #expect(try await service.send("GET", "/readyz").status == 200)
            for answer in [try await service.get("d1"), try await service.add(1, to: "d1")] {
                #expect(answer.status == 503 && answer.code == "newer_program_needed", "\(answer)")
                #expect(answer.headers["retry-after"] == "1" && answer.headers["connection"] == "close")
            }
            // No replica would do better.
            try await eventually(within: 20, describe: "readyz reports the newer states") {
                try await service.check("newer_states") == "failing"
            }
            #expect(try await service.send("GET", "/readyz").status == 200)
            try await eventually(within: 20, describe: "the service is not ready") {
                try await service.enrolReplica(version: 2)
                return try await service.send("GET", "/readyz").status == 503
            }
            let faults = try await service.send("GET", "/readyz").json["errors"]
            #expect(faults?[0]?["pointer"] == "/states", "\(faults ?? .null)")
            try await eventually(within: 20, describe: "the service is ready without the newer replica") {
                try await service.send("GET", "/readyz").status == 200
            }
        }
        await service.pool.close()
    }

    @Test func `a failing partition makes the service not ready if there is another replica`() async throws {
        let service = try await CounterService.prepare(partitions: 1)
        try await service.run { () async throws in
            try await service.sql(
                """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON counter.states FOR EACH ROW EXECUTE FUNCTION public.refuse();
                WITH moved AS (UPDATE bus.partitions SET head = head + 1, day = current_date RETURNING head)
                INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
                SELECT 0, head, current_date, id, 'other', 'other.thing.pinged', 1, 'device:d1', 0, id, '{}'
                FROM moved, gen_random_uuid() AS id
                """)
            try await eventually(within: 30, describe: "readyz reports the partition") {
                try await service.check("waiting_partitions") == "failing"
            }
            #expect(try await service.send("GET", "/readyz").status == 200)
            try await eventually(within: 30, describe: "the service is not ready") {
                try await service.enrolReplica(version: 1)
                return try await service.send("GET", "/readyz").status == 503
            }
            let answer = try await service.send("GET", "/readyz").json
            #expect(answer["errors"]?[0]?["pointer"] == "/partitions", "\(answer)")
            #expect(answer["errors"]?[0]?["detail"]?.string?.contains("partition 0") == true, "\(answer)")
            try await service.sql("DROP TRIGGER refuse ON counter.states")
            try await eventually(within: 30, describe: "the partition continues") {
                let answer = try await service.send("GET", "/readyz")
                return answer.status == 200 && answer.json["errors"] == nil
            }
        }
        await service.pool.close()
    }

    @Test func `unknown migrations make the service not ready unless they are compatible`() async throws {
        let service = try await CounterService.prepare()
        try await service.run { () async throws in
            for schema in ["bus", "counter"] {
                func apply(_ isCompatible: Bool) async throws {
                    try await service.sql(
                        """
                        INSERT INTO \(schema).migrations (number, name, checksum, compatible)
                        SELECT max(number) + 1, 'later', 'x', \(isCompatible) FROM \(schema).migrations
                        """)
                }
                try await apply(true)
                let replica = try service.replica()
                // This returns when the replica is ready.
                try await replica.run {}
                #expect(try await service.send("GET", "/readyz").status == 200)
                try await apply(false)
                // A busy machine can report another fault before.
                try await eventually(within: 30, describe: "the service is not ready because of schema \(schema)") {
                    let answer = try await service.send("GET", "/readyz")
                    let fault = answer.json["errors"]?[0]
                    return answer.status == 503 && fault?["pointer"] == "/schema"
                        && fault?["detail"]?.string?.contains("schema \(schema)") == true
                }
                await #expect(throws: PostgresError.self) { try await service.replica().serveAtMost(30) }
                try await service.sql("DELETE FROM \(schema).migrations WHERE name = 'later'")
                try await eventually(within: 30, describe: "the service is ready again") {
                    try await service.send("GET", "/readyz").status == 200
                }
            }
        }
        await service.pool.close()
    }

    @Test func `a program with pending migrations does not start`() async throws {
        let service = try await CounterService.prepare()
        for schema in ["bus", "counter"] {
            try await service.sql(
                """
                CREATE TABLE public.kept AS SELECT * FROM \(schema).migrations;
                DELETE FROM \(schema).migrations WHERE number = (SELECT max(number) FROM \(schema).migrations)
                """)
            let error = await #expect(throws: PostgresError.self) { try await service.serveAtMost(30) }
            let words = error.map { "\($0)" } ?? ""
            #expect(words.contains("schema \(schema)") && words.contains("`migrate` command"), "\(words)")
            try await service.sql(
                """
                INSERT INTO \(schema).migrations SELECT * FROM public.kept ON CONFLICT DO NOTHING;
                DROP TABLE public.kept
                """)
        }
        await service.pool.close()
    }
}

extension CounterService {
    fileprivate func serveAtMost(_ seconds: Double) async throws {
        try await withTimeout(seconds: seconds, "the service ends") { try await serve() }
    }

    /// Returns the report of one check in `/readyz`.
    fileprivate func check(_ name: String) async throws -> String? {
        try await send("GET", "/readyz", key: nil).json["checks"]?[name]?.string
    }

    fileprivate func sql(_ text: String) async throws {
        try await pool.withConnection { try await $0.script(text) }
    }

    /// Enrols another member for the next 5 seconds.
    fileprivate func enrolReplica(version: Int) async throws {
        try await sql(
            """
            INSERT INTO bus.members (consumer, member, since_time, expires, machine_version)
            VALUES ('counter', '00000000-0000-0000-0000-000000000001', 0, clock_timestamp() + interval '5 seconds', \(version))
            ON CONFLICT (consumer, member) DO UPDATE SET expires = excluded.expires
            """)
    }

    /// Breaks the database like a package upgrade under a running server: `SELECT 1` succeeds, and the suite's
    /// statements fail.
    fileprivate func breakStatements() async throws {
        try await sql(
            """
            CREATE OR REPLACE FUNCTION bus.expect(actual bigint, expected bigint, what text) RETURNS bigint
            LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$ BEGIN
                RAISE EXCEPTION 'could not load library plpgsql.so: undefined symbol' USING ERRCODE = '58P01';
            END $$;
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM bus.expect(0, 0, 'nothing'); RETURN NEW;
            END $$;
            CREATE TRIGGER broken BEFORE INSERT ON bus.events FOR EACH ROW EXECUTE FUNCTION public.fail()
            """)
    }

    fileprivate func mendStatements() async throws {
        try await sql(
            """
            CREATE OR REPLACE FUNCTION bus.expect(actual bigint, expected bigint, what text) RETURNS bigint
            LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$ BEGIN RETURN actual; END $$;
            DROP TRIGGER broken ON bus.events
            """)
    }
}
