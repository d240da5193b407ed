// The client of the `ops` API: the operator key, requests, and the live stream. The key is sent only in a header.

const storageKey = 'dormouse.key'
let key = sessionStorage.getItem(storageKey)

export const credentials = {
  get isHeld() { return key !== null },
  /** Whether the key may move the clock and release dead letters. */
  mayOperate: false,
  keep(text) {
    key = text
    sessionStorage.setItem(storageKey, text)
  },
  forget() {
    key = null
    sessionStorage.removeItem(storageKey)
  },
}

/** A failed request; `status` is 0 without a response. */
export class Failure extends Error {
  constructor(status, problem, retryAfter) {
    super(problem?.detail ?? problem?.title ?? (status ? `status ${status}` : 'no response'))
    this.status = status
    this.code = problem?.code
    this.retryAfter = retryAfter
    this.faults = problem?.errors ?? []
  }
  /** Whether the request needs another key; a retry does not help. */
  get isOfTheKey() { return this.status === 401 || this.status === 403 }
}

async function request(path, { method = 'GET', body, headers = {}, signal } = {}) {
  const all = key === null ? headers : { ...headers, Authorization: `Bearer ${key}` }
  let response
  try {
    response = await fetch(path, { method, body, headers: all, signal, cache: 'no-store', credentials: 'omit' })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Failure(0)
  }
  if (response.ok) return response
  const problem = await response.json().catch(() => null)
  throw new Failure(response.status, problem, Number(response.headers.get('Retry-After')) || undefined)
}

/** Returns a path with a query, without empty parameters. */
export function path(base, query = {}) {
  const text = written(query)
  return text ? `${base}?${text}` : base
}

/** Returns a query as text. A `+` is no space in a URI; only forms write it so. Colons stay readable. */
function written(query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  return new URLSearchParams(given).toString().replaceAll('+', '%20').replaceAll('%3A', ':')
}

/** Returns a name as a path segment. Colons stay readable; names have no other reserved characters. */
export const segment = name => encodeURIComponent(name).replaceAll('%3A', ':')

/** Returns a JSON document. The timeout is 15 s. */
export const get = (path, signal) => read(path, signal, 15_000, response => response.json())

/** Returns a page of events, and as `searchedTo` the time up to which a search of a text has read the log. A device that the
 *  log does not know has an empty page. */
export const eventsOf = (query, signal) => read(path('v1/events', query), signal, 15_000,
  async response => ({ ...await response.json(), searchedTo: response.headers.get('Dormouse-Searched-To') }))
  .catch(error => {
    if (error.status !== 404) throw error
    return { items: [], next: null, searchedTo: null }
  })

/** Returns the items of all pages of a list. */
export async function all(base, signal) {
  const items = []
  let cursor
  do {
    const page = await get(path(base, { cursor }), signal)
    items.push(...page.items)
    cursor = page.next
  } while (cursor)
  return items
}

/** Returns a text. The timeout is two minutes. */
export const text = (path, signal) => read(path, signal, 120_000, response => response.text())

/** Returns a page of a list as a text of this media type, and the cursor of the next page. */
export const textAndNext = (path, type, signal) => read(path, signal, 120_000, async response => {
  const [, next] = /[?&]cursor=([^&>]+)[^>]*>; *rel="?next/.exec(response.headers.get('Link') ?? '') ?? []
  return { text: await response.text(), next: next && decodeURIComponent(next) }
}, { headers: { Accept: type } })

/** Sends a change, and returns its JSON document. A retry of the same change needs the same idempotency key. */
export const send = (method, path, content, { idempotency, signal, patience = 60_000 } = {}) => read(path, signal, patience,
  response => response.json(), {
    method, body: content === undefined ? undefined : JSON.stringify(content),
    headers: { ...(content !== undefined && { 'Content-Type': 'application/json' }), ...(idempotency && { 'Idempotency-Key': idempotency }) },
  })

/** Returns a random key. `crypto.randomUUID` needs TLS. */
export const idempotencyKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')

async function read(path, signal, milliseconds, body, options = {}) {
  const patience = AbortSignal.timeout(milliseconds)
  try {
    const response = await request(path, { ...options, signal: signal ? AbortSignal.any([signal, patience]) : patience })
    return await body(response)
  } catch (error) {
    if (error instanceof Failure || signal?.aborted) throw error
    throw new Failure(0)
  }
}

/** Waits until the time is over or `signal` aborts. */
export const pause = (milliseconds, signal) => new Promise(done => {
  if (signal?.aborted) return done()
  const timer = setTimeout(done, milliseconds)
  signal?.addEventListener('abort', () => { clearTimeout(timer); done() }, { once: true })
})

/** Returns the milliseconds until the next retry: 1 s, doubled up to 15 s, or a longer Retry-After. */
export const patience = (tries, failure) => Math.max(Math.min(15_000, 1000 * 2 ** tries), (failure?.retryAfter ?? 0) * 1000)

/**
 *
 *
 *
 *
 ** Follows server-sent events until `signal` aborts, and reconnects after the last event id when the stream ends.
 */
export async function follow(path, { told, state, opened, failed, signal }) {
  let last
  let heardAt = Date.now()
  let tries = 0
  while (!signal.aborted) {
    if (Date.now() - heardAt > 60_000) last = undefined
    const silence = new AbortController()
    let timer
    const heard = () => {
      clearTimeout(timer)
      heardAt = Date.now()
      timer = setTimeout(() => silence.abort(), 40_000)
    }
    try {
      state('connecting')
      timer = setTimeout(() => silence.abort(), 40_000)
      const headers = last === undefined ? {} : { 'Last-Event-ID': last }
      const both = AbortSignal.any([signal, silence.signal])
      const response = await request(path, { headers, signal: both })
      state('live')
      await opened?.(last === undefined)
      for await (const event of events(response.body, heard)) {
        if (event.type !== 'mark') tries = 0
        if (event.id !== undefined) last = event.id
        if (event.type === 'cut') {
          last = undefined
          break
        }
        if (event.type === 'message') told(JSON.parse(event.data))
      }
      silence.abort()
    } catch (error) {
      if (signal.aborted) break
      // The log does not have this position: start with new events.
      if (error.status === 410 || error.status === 400) last = undefined
      if (error instanceof Failure && error.isOfTheKey) {
        clearTimeout(timer)
        return failed?.(error)
      }
      failed?.(error)
    }
    clearTimeout(timer)
    state('waiting')
    await pause(patience(tries++), signal)
  }
  state('ended')
}

/** Parses a stream of bytes to events (HTML standard, section 9.2.6); an id without data is a `mark`. */
async function* events(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let event = { type: 'message', data: [] }
  try {
    while (true) {
      const { value, done } = await reader.read().catch(() => { throw new Failure(0) })
      if (done) return
      heard()
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop()
      for (const line of lines) {
        if (line === '') {
          if (event.data.length > 0) yield { ...event, data: event.data.join('\n') }
          else if (event.id !== undefined) yield { ...event, type: 'mark' }
          event = { type: 'message', data: [] }
          continue
        }
        const colon = line.indexOf(':')
        if (colon === 0) continue
        const field = colon < 0 ? line : line.slice(0, colon)
        const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
        if (field === 'data') event.data.push(value)
        else if (field === 'event') event.type = value
        else if (field === 'id') event.id = value
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
