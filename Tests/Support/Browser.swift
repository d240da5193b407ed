public import Records

import Foundation

/// A page of headless Chromium, driven by the DevTools protocol. It shares neither storage nor windows with other pages.
public actor Browser {
    /// An exception of the page, or an error of Chromium.
    public struct Refused: Error, CustomStringConvertible {
        public let description: String
    }

    public static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: Chromium.executable) }

    private let chromium: Chromium
    private let context: JSON
    private let session: String

    /// Opens a page, gives it to `body`, and closes it.
    public static func run<T: Sendable>(_ body: (Browser) async throws -> T) async throws -> T {
        let browser = try await Browser(Chromium.shared())
        do {
            let result = try await body(browser)
            try await browser.close()
            return result
        } catch {
            try? await browser.close()
            throw error
        }
    }

    private init(_ chromium: Chromium) async throws {
        self.chromium = chromium
        context = try await chromium.call("Target.createBrowserContext")["browserContextId"] ?? .null
        let page = try await chromium.call(
            "Target.createTarget", ["url": "about:blank", "browserContextId": context, "newWindow": true])
        session =
            try await chromium.call("Target.attachToTarget", ["targetId": page["targetId"] ?? .null, "flatten": true])[
                "sessionId"]?.string ?? ""
        for domain in ["Page", "Runtime", "Log", "Network"] { try await call(domain + ".enable") }
        // Each page behaves as if its window were the active one.
        try await call("Emulation.setFocusEmulationEnabled", ["enabled": true])
    }

    private func close() async throws {
        try await chromium.call("Target.disposeBrowserContext", ["browserContextId": context])
    }

    /// Sends a command to the page, and waits for its result.
    @discardableResult
    public func call(_ method: String, _ parameters: JSON = [:]) async throws -> JSON {
        try await chromium.call(method, parameters, session: session)
    }

    /// The messages of the page so far.
    private var events: [String] {
        let end = "\"sessionId\":\"\(session)\"}"
        return chromium.messages.filter { $0.hasSuffix(end) }
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
        events.compactMap { line in
            guard line.hasPrefix(#"{"method":"Network.requestWillBeSent","#) else { return nil }
            return (try? JSON(parsing: Array(line.utf8)))?["params"]?["request"]?["url"]?.string
        }
    }

    /// The errors and warnings of the page's console. Chromium also reports failed requests there; those are excluded.
    public var complaints: [String] {
        events.filter { line in
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
