import Postgres
import Testing

@Suite("Connection options")
struct ConnectionOptionsTests {
    private func part(_ url: String) -> String? {
        do throws(PostgresError) {
            _ = try ConnectionOptions(url: url)
            return nil
        } catch {
            guard case .invalidOptions(let part, _) = error else { return "another error" }
            return part
        }
    }

    @Test(arguments: [
        ("postgres://a:70000/b", "port"), ("postgres://a,b/c?port=1,2,3", "port"),
        ("host=a,b hostaddr=127.0.0.1", "hostaddr"), ("host=a connect_timeout=soon", "connect_timeout"),
        ("host=a target_session_attrs=writable", "target_session_attrs"), ("host=a nonsense=1", "url"),
        ("postgres://[a", "url"),
    ])
    func `the error names the invalid part`(url: String, expected: String) {
        #expect(part(url) == expected)
    }

    @Test func `a URL may have several hosts`() throws {
        let options = try ConnectionOptions(url: "postgres://user@one:5001,two:5002/data")
        #expect(options.description == "one:5001,two:5002/data")
    }

    @Test func `descriptions and dumps do not contain the password`() throws {
        let inURL = try ConnectionOptions(url: "postgres://user:hunter2@one/data")
        let apart = try ConnectionOptions(url: "host=one", password: "hunter2")
        for options in [inURL, apart] {
            var dumped = ""
            dump(options, to: &dumped)
            for text in ["\(options)", String(reflecting: options), dumped] { #expect(!text.contains("hunter2")) }
        }
    }

    @Test(arguments: ["host=a password=two hunter2", "postgres://user:hunter2@[a/b", "hunter2 password"])
    func `an invalid URL that may contain a password is not quoted`(url: String) {
        do throws(PostgresError) {
            _ = try ConnectionOptions(url: url)
            Issue.record("the URL was accepted")
        } catch {
            #expect(!String(reflecting: error).contains("hunter2"))
        }
    }
}
