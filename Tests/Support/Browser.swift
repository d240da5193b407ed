public import Records

import Foundation
import Glibc

/// A page of headless Chromium, driven by the DevTools protocol over pipes.
///
/// Chromium reads commands from descriptor 3 and answers on 4; a zero byte ends each message. A shell connects them to
/// a named pipe and to standard output, and turns each message into a line.
public actor Browser {
    /// An exception of the page, or an error of Chromium.
    public struct Refused: Error, CustomStringConvertible {
        public let description: String
    }

    /// The path of Debian's package. Ubuntu has Chromium only as a snap.
    private static let executable = "/usr/bin/chromium"
    public static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: executable) }

    private static let script = """
        folder=$0
        mkfifo "$folder/commands"
        echo ready >&2
        { "$@" 3<>"$folder/commands" 4>&1 1>&2; } | stdbuf -o0 tr '\\0' '\\n'
        """
    private static let arguments = [
        "--headless=new", "--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage",
        "--disable-breakpad", "--disable-background-networking", "--no-first-run", "--hide-scrollbars",
        "--remote-debugging-pipe",
    ]

    private let process: ChildProcess
    private let folder: URL
    private let commands: FileHandle
    private var last = 0
    private var session: String?

    /// Opens a browser, gives it to `body`, and closes it.
    public static func run<T: Sendable>(_ body: (Browser) async throws -> T) async throws -> T {
        let browser = try await Browser()
        do {
            try await browser.begin()
            let result = try await body(browser)
            try await browser.close()
            return result
        } catch {
            try? await browser.close()
            throw error
        }
    }

    private init() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("browser-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let process = try ChildProcess.start(
            "/bin/sh",
            ["-c", Self.script, folder.path, Self.executable] + Self.arguments
                + ["--user-data-dir=\(folder.path)/profile", "about:blank"],
            // Chromium also writes outside its profile, in HOME.
            environment: ["HOME": folder.path])
        try await process.waitForLine(containing: "ready")
        // Opening for reading and writing does not wait for the other side.
        commands = FileHandle(
            fileDescriptor: Glibc.open(folder.path + "/commands", O_RDWR | O_CLOEXEC), closeOnDealloc: true)
        (self.folder, self.process) = (folder, process)
    }

    private func begin() async throws {
        let targets = try await call("Target.getTargets")["targetInfos"]?.items ?? []
        guard let page = targets.first(where: { $0["type"] == "page" })?["targetId"] else {
            throw Refused(description: "Chromium has no page")
        }
        session = try await call("Target.attachToTarget", ["targetId": page, "flatten": true])["sessionId"]?.string
        for domain in ["Page", "Runtime", "Log", "Network"] { try await call(domain + ".enable") }
    }

    private func close() async throws {
        session = nil
        _ = try? await call("Browser.close")
        try await process.exit()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Sends a command, and waits for its result.
    @discardableResult
    public func call(_ method: String, _ parameters: JSON = [:]) async throws -> JSON {
        last += 1
        var command: JSON = ["id": .int(last), "method": .string(method), "params": parameters]
        if let session, case .object(let members) = command {
            command = .object(members + [.init("sessionId", .string(session))])
        }
        let (output, beginning) = (process.output, "{\"id\":\(last),")
        // The answer comes after all lines so far. A page reports many events, so reading them again is slow.
        let earlier = output.count
        try commands.write(contentsOf: command.bytes + [0])
        let line = try await withTimeout(seconds: 60, method) {
            await output.first(after: earlier) { $0.hasPrefix(beginning) }
        }
        let answer = try JSON(parsing: Array((line ?? "{}").utf8))
        guard let result = answer["result"] else {
            throw Refused(description: "\(method): \(line ?? "it ended: " + process.errors.tail())")
        }
        return result
    }

    /// Evaluates an expression in the page.
    @discardableResult
    public func evaluate(_ expression: String) async throws -> JSON {
        let answer = try await call(
            "Runtime.evaluate",
            ["expression": .string(expression), "awaitPromise": true, "returnByValue": true, "userGesture": true])
        if let exception = answer["exceptionDetails"] {
            throw Refused(description: "\(expression): \(String(decoding: exception.bytes, as: UTF8.self))")
        }
        return answer["result"]?["value"] ?? .null
    }

    /// The text of the first matching element; nil if there is none.
    public func text(_ selector: String) async throws -> String? {
        try await evaluate("document.querySelector(\(quoted(selector)))?.textContent ?? null").string
    }

    /// The texts of all matching elements.
    public func texts(_ selector: String) async throws -> [String] {
        try await evaluate("[...document.querySelectorAll(\(quoted(selector)))].map(each => each.textContent)")
            .items?.compactMap(\.string) ?? []
    }

    /// Clicks a button or a link as soon as it is there. A page that draws a list again has none for a moment.
    public func press(_ selector: String) async throws {
        let find = "(found => found ? (found.click(), true) : false)(document.querySelector(\(quoted(selector))))"
        try await eventually(describe: "a click on \(selector)") { [self] in try await evaluate(find) == true }
    }

    /// Enters text into a field, as a user does.
    public func write(_ text: String, into selector: String) async throws {
        try await evaluate("document.querySelector(\(quoted(selector))).focus()")
        try await call("Input.insertText", ["text": .string(text)])
    }

    /// Presses a key at the current focus.
    public func press(_ key: Key) async throws {
        let parameters: [JSON.Member] = [
            .init("key", .string(key.name)), .init("code", .string(key.name)),
            .init("windowsVirtualKeyCode", .int(key.code)),
        ]
        let text: [JSON.Member] = key.text.map { [.init("text", .string($0))] } ?? []
        try await call("Input.dispatchKeyEvent", .object([.init("type", "keyDown")] + parameters + text))
        try await call("Input.dispatchKeyEvent", .object([.init("type", "keyUp")] + parameters))
    }

    /// Presses Tab until a matching element has the focus.
    public func tab(to selector: String, atMost steps: Int = 60) async throws {
        for _ in 0..<steps {
            try await press(.tab)
            if try await evaluate("document.activeElement.matches(\(quoted(selector)))") == true { return }
        }
        throw Refused(description: "Tab does not reach \(selector)")
    }

    /// Waits until an expression is true in the page.
    public func until(_ expression: String, within seconds: Double = 90) async throws {
        // A page that loads may have no content yet.
        try await eventually(within: seconds, describe: expression) { [self] in
            (try? await evaluate("Boolean(\(expression))"))?.bool ?? false
        }
    }

    /// Opens a page with a screen width and a stored operator key.
    public func open(_ address: String, width: Int = 1280, key: String?) async throws {
        try await resize(to: width)
        if let key {
            try await call(
                "Page.addScriptToEvaluateOnNewDocument",
                ["source": .string("if (self === top) sessionStorage.setItem('dormouse.key', \(quoted(key)))")])
        }
        try await call("Page.navigate", ["url": .string(address)])
    }

    /// Emulates the colour scheme `dark` or `light`.
    public func prefer(_ scheme: String) async throws {
        let feature: JSON = ["name": "prefers-color-scheme", "value": .string(scheme)]
        try await call("Emulation.setEmulatedMedia", ["features": .array([feature])])
    }

    /// Sets the width of the screen.
    public func resize(to width: Int) async throws {
        try await call(
            "Emulation.setDeviceMetricsOverride",
            ["width": .int(width), "height": 900, "deviceScaleFactor": 1, "mobile": false])
    }

    /// Returns by how many pixels the page is wider than the screen.
    public func overhang() async throws -> Int? {
        try await evaluate("document.documentElement.scrollWidth - innerWidth").int
    }

    /// Returns a screenshot of the page as PNG.
    public func picture() async throws -> [UInt8] {
        let answer = try await call("Page.captureScreenshot", ["format": "png"])
        return Array(Data(base64Encoded: answer["data"]?.string ?? "") ?? Data())
    }

    /// Returns the roles of controls without an accessible name.
    public func nameless() async throws -> [String] {
        let used = ["button", "link", "textbox", "searchbox", "combobox", "checkbox", "dialog", "navigation", "group"]
        let nodes = try await call("Accessibility.getFullAXTree")["nodes"]?.items ?? []
        return nodes.compactMap { node in
            guard node["ignored"] != true, let role = node["role"]?["value"]?.string, used.contains(role),
                (node["name"]?["value"]?.string ?? "").isEmpty
            else { return nil }
            return role
        }
    }

    /// Returns the texts with too little contrast to their background: below 4.5 to 1, or below 3 to 1 from 24 px on
    /// (WCAG 2.2, success criterion 1.4.3).
    public func pale() async throws -> [String] {
        try await evaluate(
            """
            (() => {
              const parts = text => text.match(/[\\d.]+/g).map(Number)
              const light = ([r, g, b]) => [r, g, b].map(each => each / 255)
                .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
                .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0)
              const behind = element => {
                for (let each = element; each; each = each.parentElement) {
                  const colour = parts(getComputedStyle(each).backgroundColor)
                  if ((colour[3] ?? 1) === 1) return colour
                }
                return [255, 255, 255]
              }
              return [...document.body.querySelectorAll('*')].filter(each => each.checkVisibility()
                && [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
                .filter(each => {
                  const style = getComputedStyle(each)
                  const [one, other] = [light(parts(style.color)), light(behind(each))].sort((a, b) => b - a)
                  return (one + 0.05) / (other + 0.05) < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)
                }).map(each => `${each.tagName} ${each.className}: ${each.textContent.slice(0, 30)}`)
            })()
            """
        ).items?.compactMap(\.string) ?? []
    }

    /// The addresses of all requests of the pages.
    public var requests: [String] {
        process.output.lines.compactMap { line in
            guard line.hasPrefix(#"{"method":"Network.requestWillBeSent","#) else { return nil }
            return (try? JSON(parsing: Array(line.utf8)))?["params"]?["request"]?["url"]?.string
        }
    }

    /// The errors and warnings of the page's console. Chromium also reports failed requests there; those are excluded.
    public var complaints: [String] {
        process.output.lines.filter { line in
            guard let message = try? JSON(parsing: Array(line.utf8)), let parameters = message["params"] else {
                return false
            }
            return switch message["method"]?.string ?? "" {
            case "Runtime.exceptionThrown": true
            case "Runtime.consoleAPICalled": ["error", "warning", "assert"].contains(parameters["type"]?.string)
            case "Log.entryAdded":
                ["error", "warning"].contains(parameters["entry"]?["level"]?.string)
                    && parameters["entry"]?["source"] != "network"
            default: false
            }
        }
    }
}

extension Browser {
    /// A key of the keyboard.
    public struct Key: Sendable {
        let name: String
        let code: Int
        var text: String?

        public static let tab = Key(name: "Tab", code: 9)
        public static let enter = Key(name: "Enter", code: 13, text: "\r")
        public static let escape = Key(name: "Escape", code: 27)
        public static let left = Key(name: "ArrowLeft", code: 37)
    }
}

/// Returns a string literal of JavaScript.
private func quoted(_ text: String) -> String { String(decoding: JSON.string(text).bytes, as: UTF8.self) }
