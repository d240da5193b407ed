// The dashboard: which part of it is open, and the numbers of the overview.

import { credentials, Failure, get, path, patience, pause } from './api.js'
import { $, bars, h, keyed, say, share, show } from './dom.js'
import { legend, RateChart, spark } from './chart.js'
import { DeviceView } from './device.js'
import { Devices } from './devices.js'
import { Feed } from './feed.js'
import { bytes, number, plural, services, span, states, timeOfDay, word } from './words.js'

const windows = {
  60: { unit: 'a minute', caption: 'events in the last hour' },
  360: { unit: 'in 6 minutes', caption: 'events in the last 6 hours' },
  1440: { unit: 'in 24 minutes', caption: 'events in the last 24 hours' },
}

const chart = new RateChart($('rate'), $('rate-readout'))
const feed = new Feed(failed)
const devices = new Devices(failed)
const device = new DeviceView(suiteNow, failed)

/** What is open: `overview`, `device`, or `door` while a key is needed. */
let open
let clock
/** Ends the refreshing of what is open. */
let refreshing = new AbortController()
/** Whether numbers are on the page. */
let hasNumbers = false

// Which part is open

function route() {
  const parts = location.hash.replace(/^#\/?/, '').split('/')
  if (parts[0] !== 'devices' || !parts[1]) return { part: parts[0] || 'overview' }
  try { return { part: 'device', name: decodeURIComponent(parts[1]) } } catch { return { part: 'overview' } }
}

function turn() {
  const { part, name } = route()
  const view = part === 'device' ? 'device' : 'overview'
  for (const link of document.querySelectorAll('nav [data-part]')) {
    const isHere = link.dataset.part === (part === 'device' ? 'devices' : part)
    if (isHere) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  show($('door'), false)
  show($('overview'), view === 'overview')
  show($('device'), view === 'device')
  document.title = view === 'device' ? `${name} – Dormouse` : 'Dormouse'
  if (view === 'device') {
    feed.stop()
    device.open(name)
    scrollTo(0, 0)
    $('device-name').focus({ preventScroll: true })
  } else {
    device.close()
    if (open !== 'overview') feed.start()
    const section = { devices: $('devices'), feed: $('feed') }[part] ?? $('main')
    if (section === $('main')) scrollTo(0, 0)
    else section.scrollIntoView()
    if (open !== undefined) section.focus({ preventScroll: true })
  }
  open = view
  refresh()
}

function askForKey(words = '') {
  refreshing.abort()
  feed.stop()
  device.close()
  open = 'door'
  for (const id of ['overview', 'device', 'clock', 'forget', 'trouble']) show($(id), false)
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

// What goes wrong

function failed(error) {
  if (!(error instanceof Failure)) {
    if (error.name !== 'AbortError') console.error(error)
    return
  }
  if (error.isOfTheKey) {
    // Of several questions that were under way, one tells it.
    if (open === 'door' && !credentials.isHeld) return
    const words = error.status === 403 ? 'This key may not read: it needs the scope read.'
      : credentials.isHeld ? 'ops does not know this key.' : ''
    credentials.forget()
    return askForKey(words)
  }
  const since = hasNumbers && clock ? ` What you see is of ${timeOfDay(clock.now)} by the suite’s clock.` : ''
  if (error.status === 0) say($('trouble'), `ops does not answer; trying again.${since}`)
  else if (error.status === 429) say($('trouble'), 'This key makes too many requests; going on more slowly.')
  else if (error.code === 'database_unavailable') say($('trouble'), `ops can’t reach its database; trying again.${since}`)
  else say($('trouble'), `ops answered ${error.status}: ${error.message}; trying again.${since}`)
  show($('trouble'), true)
}

function wentWell() {
  hasNumbers = true
  show($('trouble'), false)
}

// What is refreshed

/** Runs a question each 2 s while somebody looks, more slowly while it fails. */
async function refresh() {
  refreshing.abort()
  const { signal } = refreshing = new AbortController()
  let tries = 0
  while (!signal.aborted) {
    let wait = 2000
    if (!document.hidden) {
      try {
        await (open === 'overview' ? refreshOverview(signal) : refreshClock(signal))
        wentWell()
        tries = 0
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
  const interval = Number($('window').value)
  // Each is written when it is there: what one of them lacks is no loss to the others.
  await Promise.all([
    refreshClock(signal),
    get(path('v1/stats', { interval }), signal).then(stats => {
      writeNow(stats, interval)
      writeRate(stats, interval)
      writeReasons(stats)
      writeTransfers(stats.transfers)
    }),
    get('v1/consumers', signal).then(consumers => writeConsumers(consumers.items)),
    devices.refresh(signal),
  ])
}

async function refreshClock(signal) {
  const reading = await get('v1/clock', signal)
  clock = { ...reading, at: performance.now() }
  writeClock()
}

// The suite's clock

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

// The numbers

function writeNow(stats, interval) {
  const apps = [...stats.now.apps].sort((a, b) => states.indexOf(a.state) - states.indexOf(b.state))
  say($('devices-count'), number(stats.now.devices))
  say($('apps-count'), number(apps.reduce((sum, each) => sum + each.count, 0)))
  say($('events-count'), number(stats.events))
  say($('events-caption'), windows[interval].caption)
  say($('counted'), stats.lag > 0 ? `${plural(stats.lag, 'event', 'events')} not counted yet` : 'all events counted')
  share($('states-bar'), apps.map(each => ({ key: each.state, kind: `is-${each.state}`, count: each.count })))
  const sum = apps.reduce((all, each) => all + each.count, 0)
  const shown = states.map(state => ({ state, count: apps.find(each => each.state === state)?.count ?? 0 }))
  keyed($('states'), shown, each => each.state,
    each => h('li', {}, h('span', { class: `dot is-${each.state}`, 'aria-hidden': 'true' }), h('span', {}, word(each.state)), h('strong'), h('span', { class: 'muted' })),
    (element, each) => {
      say(element.children[2], number(each.count))
      say(element.children[3], sum > 0 ? `${Math.round(100 * each.count / sum)} %` : '')
    })
}

function writeRate(stats, interval) {
  say($('rate-unit'), windows[interval].unit)
  const counts = Object.fromEntries(services.map(name => [name, stats.points.reduce((sum, point) => sum + point[name], 0)]))
  legend($('rate-legend'), counts)
  chart.show(stats.points)
}

function writeReasons(stats) {
  const sum = items => items.reduce((all, each) => all + each.count, 0)
  const reasons = items => items.map(each => ({ key: each.reason, label: word(each.reason), count: each.count }))
  say($('woken-total'), number(sum(stats.woken)))
  say($('refused-total'), number(sum(stats.refused)))
  say($('ended-total'), number(sum(stats.ended)))
  bars($('woken'), reasons(stats.woken), 'No app was woken.')
  bars($('refused'), reasons(stats.refused), 'No wake was refused.')
  bars($('ended'), stats.ended.map(each => ({
    key: `${each.reason} ${each.code ?? ''}`, label: word(each.reason), note: each.code, count: each.count,
  })), 'No app ended.')
  bars($('notifications'), stats.notifications.map(each => ({ key: each.status, label: each.status, count: each.count })), 'No notification was sent.')
  spark($('woken-spark'), stats.points.map(point => point.woken), 'Wakes granted over the window')
  spark($('refused-spark'), stats.points.map(point => point.refused), 'Wakes refused over the window')
  spark($('ended-spark'), stats.points.map(point => point.killed), 'Ends of apps over the window')
}

function writeTransfers(transfers) {
  say($('bytes-received'), bytes(transfers.bytesReceived))
  say($('bytes-sent'), bytes(transfers.bytesSent))
  say($('tasks-completed'), number(transfers.completed))
  say($('tasks-failed'), number(transfers.failed))
  share($('transfers-bar'), [
    { key: 'completed', kind: 'is-good', count: transfers.completed }, { key: 'failed', kind: 'is-bad', count: transfers.failed },
  ])
}

function writeConsumers(consumers) {
  keyed($('consumers'), consumers, each => each.name,
    each => h('tr', {}, h('th', { scope: 'row' }, each.name), h('td', { class: 'number' }), h('td')),
    (row, each) => {
      const behind = each.partitions.filter(place => place.lag > 0).length
      const unowned = each.partitions.filter(place => !place.owner).length
      row.className = each.lag > 0 ? 'is-behind' : ''
      say(row.children[1], number(each.lag))
      say(row.children[2], each.waitingSince === null ? (unowned > 0 ? `up to date; ${unowned} of ${each.partitions.length} partitions have no owner` : 'up to date')
        // Real time, as the log's.
        : `${span(Date.now() - Date.parse(each.waitingSince))}, in ${behind} of ${each.partitions.length} partitions`)
    })
}

// The beginning

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

addEventListener('hashchange', () => { if (open !== 'door') turn() })
begin()
