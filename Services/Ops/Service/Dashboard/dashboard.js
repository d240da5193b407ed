// The dashboard: navigation, and the refresh of the open view.

import { credentials, Failure, get, path, patience, pause } from './api.js'
import { $, say, show } from './dom.js'
import { DeviceView } from './device.js'
import { Devices } from './devices.js'
import { Feed } from './feed.js'
import { refreshNumbers } from './overview.js'
import { Reports } from './reports.js'
import { Transfers } from './transfers.js'
import { timeOfDay } from './words.js'

const transfers = new Transfers()
const feed = new Feed(transfers, failed)
const devices = new Devices(failed)
const device = new DeviceView(suiteNow, failed)
const reports = new Reports(suiteNow, failed)

/** The open view: `overview`, `device`, `reports`, or `door` while a key is needed. */
let open
let clock
/** Stops the refresh of the open view. */
let refreshing = new AbortController()
/** Whether the page shows numbers. */
let hasNumbers = false
/** The section to keep in view while the content above it loads, until the user scrolls or types. */
let landing

// Navigation

function route() {
  const parts = location.hash.replace(/^#\/?/, '').split('/')
  if (parts[0] !== 'devices' || !parts[1]) return { part: parts[0] || 'overview' }
  try { return { part: 'device', name: decodeURIComponent(parts[1]) } } catch { return { part: 'overview' } }
}

function turn() {
  const { part, name } = route()
  const view = part === 'device' || part === 'reports' ? part : 'overview'
  for (const link of document.querySelectorAll('nav [data-part]')) {
    const isHere = link.dataset.part === (part === 'device' ? 'devices' : part)
    if (isHere) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  landing = undefined
  show($('door'), false)
  show($('overview'), view === 'overview')
  show($('device'), view === 'device')
  show($('reports'), view === 'reports')
  document.title = view === 'device' ? `${name} – Dormouse` : view === 'reports' ? 'Reports – Dormouse' : 'Dormouse'
  if (view !== 'reports') reports.close()
  if (view === 'reports') {
    feed.stop()
    device.close()
    reports.open()
    scrollTo(0, 0)
    $('reports-title').focus({ preventScroll: true })
  } else if (view === 'device') {
    feed.stop()
    device.open(name)
    scrollTo(0, 0)
    $('device-name').focus({ preventScroll: true })
  } else {
    device.close()
    if (open !== 'overview') feed.start()
    const section = { devices: $('devices'), feed: $('feed') }[part] ?? $('main')
    if (section === $('main')) scrollTo(0, 0)
    else (landing = section).scrollIntoView()
    if (open !== undefined) section.focus({ preventScroll: true })
  }
  open = view
  refresh()
}

function askForKey(words = '') {
  refreshing.abort()
  feed.stop()
  device.close()
  reports.close()
  open = 'door'
  for (const id of ['overview', 'device', 'reports', 'clock', 'forget', 'health', 'trouble']) show($(id), false)
  show($('door'), true)
  say($('key-fault'), words)
  $('key').focus()
}

$('key-form').addEventListener('submit', event => {
  event.preventDefault()
  credentials.keep($('key').value.trim())
  $('key').value = ''
  say($('key-fault'), '')
  begin()
})

$('forget').addEventListener('click', () => {
  credentials.forget()
  askForKey()
})

// Failures

function failed(error) {
  if (!(error instanceof Failure)) {
    if (error.name !== 'AbortError') console.error(error)
    return
  }
  if (error.isOfTheKey) {
    // Several requests can fail at once; the first failure reports it.
    if (open === 'door' && !credentials.isHeld) return
    const words = error.status === 403 ? 'This key lacks the scope read.'
      : credentials.isHeld ? 'ops does not know this key.' : ''
    credentials.forget()
    return askForKey(words)
  }
  const since = hasNumbers && clock ? ` The page shows data of ${timeOfDay(clock.now)} suite time.` : ''
  if (error.status === 0) say($('trouble'), `ops does not answer; retrying.${since}`)
  else if (error.status === 429) say($('trouble'), 'This key makes too many requests; retrying more slowly.')
  else if (error.code === 'database_unavailable') say($('trouble'), `ops cannot reach its database; retrying.${since}`)
  else say($('trouble'), `ops answered ${error.status}: ${error.message}; retrying.${since}`)
  show($('trouble'), true)
}

function wentWell() {
  hasNumbers = true
  show($('trouble'), false)
}

/** Shows the faults that `ops` reports about itself and its database. It works without a key and without the database. */
async function refreshHealth(signal) {
  const faults = await get('readyz', signal).then(health => health.errors ?? [], error => {
    if (error.status !== 503) throw error
    return error.faults
  })
  const database = faults.find(fault => fault.pointer === '/database')
  const rest = faults.filter(fault => fault !== database).map(fault => fault.detail)
  say($('health'), database
    ? `The database fails: ${database.detail}. The services refuse requests that need it, and the numbers below are old.`
    : `ops reports faults: ${rest.join('; ')}.`)
  show($('health'), faults.length > 0)
}

// Refresh

/** Refreshes every 2 s while the page is visible, less often after failures, and for at most a tenth of the time. */
async function refresh() {
  refreshing.abort()
  const { signal } = refreshing = new AbortController()
  let tries = 0
  while (!signal.aborted) {
    let wait = 2000
    if (!document.hidden) {
      // If `ops` does not answer, the other requests report it.
      refreshHealth(signal).catch(() => {})
      const asked = performance.now()
      try {
        await (open === 'overview' ? refreshOverview(signal) : refreshClock(signal))
        wentWell()
        tries = 0
        wait = Math.max(wait, 9 * (performance.now() - asked))
      } catch (error) {
        if (signal.aborted) return
        failed(error)
        wait = Math.max(wait, patience(tries++, error))
      }
    }
    await pause(wait, signal)
  }
}

document.addEventListener('visibilitychange', () => { if (!document.hidden && open !== 'door') refresh() })
$('window').addEventListener('change', refresh)

async function refreshOverview(signal) {
  // Each part is written when it arrives, so one failure does not hide the others.
  await Promise.all([refreshClock(signal), refreshNumbers(suiteNow(), signal), devices.refresh(signal)])
}

async function refreshClock(signal) {
  const reading = await get('v1/clock', signal)
  clock = { ...reading, at: performance.now() }
  writeClock()
}

// The suite clock

function suiteNow() {
  if (!clock) return Date.now()
  const passed = clock.frozen ? 0 : (performance.now() - clock.at) * (clock.virtual ? clock.rate : 1)
  return Date.parse(clock.now) + passed
}

function writeClock() {
  if (!clock || open === 'door') return
  const now = new Date(suiteNow()).toISOString()
  show($('clock'), true)
  show($('forget'), credentials.isHeld)
  $('clock-now').dateTime = now
  say($('clock-now'), `${now.slice(0, 10)} ${now.slice(11, 19)}`)
  const rate = Number(clock.rate.toFixed(3))
  say($('clock-mode'), !clock.virtual ? 'real time' : clock.frozen ? 'virtual, frozen' : `virtual, ${rate}×`)
  $('clock-mode').dataset.state = clock.frozen ? 'paused' : 'live'
}

setInterval(() => { if (!document.hidden) writeClock() }, 500)

// Start

async function begin() {
  let tries = 0
  while (true) {
    try {
      await refreshClock()
      break
    } catch (error) {
      failed(error)
      if (!(error instanceof Failure) || error.isOfTheKey) return
      await pause(patience(tries++, error))
    }
  }
  wentWell()
  open = undefined
  turn()
  writeClock()
}

new ResizeObserver(() => landing?.scrollIntoView()).observe($('main'))
for (const gesture of ['wheel', 'touchmove', 'pointerdown', 'keydown']) {
  addEventListener(gesture, () => { landing = undefined }, { passive: true })
}
addEventListener('hashchange', () => { if (open !== 'door') turn() })
begin()
