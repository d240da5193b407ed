// The numbers of the overview.

import { get, path } from './api.js'
import { change, changed, here, to } from './address.js'
import { $, bars, h, keyed, say, share, show } from './dom.js'
import { Chart, legend, spark } from './chart.js'
import { writeConsumers } from './letters.js'
import { bytes, dateAndTime, number, outcomes, plural, services, states, statusesOf, word } from './words.js'

// `ops` stores counts of minutes, hours and days, so every window is a cheap query.
const windows = {
  hour: { interval: 60, points: 60, caption: 'events in the last hour' },
  day: { interval: 3600, points: 24, caption: 'events in the last 24 hours' },
  month: { interval: 86_400, points: 30, caption: 'events in the last 30 days' },
}
const intervals = [60, 300, 900, 3600, 10_800, 43_200, 86_400]
const units = { 60: 'a minute', 300: 'per 5 minutes', 900: 'per 15 minutes', 3600: 'an hour', 10_800: 'per 3 hours', 43_200: 'per 12 hours', 86_400: 'a day' }
const mostPoints = 120

const chart = new Chart($('rate'), $('rate-readout'), { series: services, things: 'events', height: 200, open: openEvents, zoom })
const pushes = new Chart($('pushes'), $('pushes-readout'), { series: outcomes, things: 'pushes', height: 130, open: openPushes, zoom })

$('window').addEventListener('change', () => change({ window: $('window').value, since: '', until: '' }))

/** The time of the first event of the log; it only changes when retention drops a day. */
let first

/** Requests the numbers, and shows each when it arrives. `clock` is the suite clock. */
export async function refreshNumbers(clock, signal) {
  const { query } = here()
  const shown = await window(query, clock.now, signal)
  $('window').value = query.window ?? 'hour'
  show($('zoom'), shown.isZoomed)
  $('zoom-out').setAttribute('href', changed({ since: '', until: '' }))
  say($('zoom-words'), shown.isZoomed ? `${dateAndTime(shown.since)} to ${dateAndTime(shown.until)}` : '')
  const { fleet } = query
  await Promise.all([
    get(path('v1/stats', { interval: shown.interval, since: shown.since, until: shown.until, fleet }), signal).then(stats => {
      const range = { since: stats.since, until: stats.until }
      writeNow(stats, shown, range)
      writeCharts(stats, shown, range, clock.jumps)
      writeReasons(stats, range)
      writeTransfers(stats, range)
    }),
    get('v1/consumers', signal).then(consumers => writeConsumers($('consumers'), consumers.items)),
  ])
}

/** Returns the points to show: the zoomed range of the address, the run so far, or the window before now. */
async function window({ window: name = 'hour', since, until }, now, signal) {
  if (since && until) {
    const range = points(Date.parse(since), Date.parse(until))
    return { ...range, isZoomed: true, caption: 'events in this range' }
  }
  if (name === 'run') return { ...points(await beginning(now, signal), now), caption: 'events in this run' }
  const shown = windows[name] ?? windows.hour
  return { ...shown, since: new Date(now - (shown.points - 1) * shown.interval * 1000).toISOString() }
}

/** Returns the widest resolution that fits a range in milliseconds. */
function points(from, until) {
  const interval = intervals.find(each => (until - from) / 1000 / each <= mostPoints) ?? 86_400
  const longest = Math.max(from, until - 1400 * interval * 1000)
  return { interval, since: new Date(longest).toISOString(), until: new Date(Math.max(until, longest + 1)).toISOString() }
}

async function beginning(now, signal) {
  if (first === undefined) {
    const page = await get(path('v1/events', { order: 'oldest', limit: 1 }), signal)
    first = page.items[0] && Date.parse(page.items[0].time)
  }
  return first ?? now
}

function zoom(from, until) { change({ since: from, until }) }

function openEvents(since, until) { location.hash = to('feed', { since, until, echoes: 'shown', fleet: here().query.fleet }) }

function openPushes(since, until) { location.hash = to('pushes', { from: since, to: until, fleet: here().query.fleet }) }

function writeNow(stats, { caption }, range) {
  const apps = [...stats.now.apps].sort((a, b) => states.indexOf(a.state) - states.indexOf(b.state))
  const { devices, devicesOff } = stats.now
  say($('devices-count'), number(devices))
  say($('devices-caption'), devices === 1 ? 'device' : 'devices')
  show($('devices-off'), devicesOff > 0)
  say($('devices-off'), `${number(devicesOff)} turned off`)
  keyed($('conditions'), conditions(stats.now), each => each.key, each => h('li', {}, h('a', { href: to('devices', each.query) })),
    (element, each) => say(element.firstElementChild, `${number(each.count)} ${each.words}`))
  $('events-link').setAttribute('href', to('feed', { ...range, echoes: 'shown' }))
  say($('apps-count'), number(apps.reduce((sum, each) => sum + each.count, 0)))
  say($('events-count'), number(stats.events))
  say($('events-caption'), caption)
  say($('counted'), stats.lag > 0 ? `${plural(stats.lag, 'event', 'events')} not counted yet` : 'all events counted')
  share($('states-bar'), apps.map(each => ({ key: each.state, kind: `is-${each.state}`, count: each.count })))
  const sum = apps.reduce((all, each) => all + each.count, 0)
  const shown = states.map(state => ({ state, count: apps.find(each => each.state === state)?.count ?? 0 }))
  keyed($('states'), shown, each => each.state,
    each => h('li', {}, h('span', { class: `dot is-${each.state}`, 'aria-hidden': 'true' }),
      h('a', { href: to('devices', { state: each.state }) }, h('span', {}, word(each.state)), ' ', h('strong')), h('span', { class: 'muted' })),
    (element, each) => {
      say(element.children[1].lastElementChild, number(each.count))
      say(element.children[2], percent(each.count, sum))
    })
}

/** Returns the numbers of devices by condition. Each leads to the list of its devices. */
function conditions({ devicesLocked, devicesInLowPowerMode, devicesCharging, devicesLowOnBattery }) {
  return [
    { key: 'locked', count: devicesLocked, words: 'locked', query: { locked: true } },
    { key: 'lowPowerMode', count: devicesInLowPowerMode, words: 'in Low Power Mode', query: { lowPowerMode: true } },
    { key: 'charging', count: devicesCharging, words: 'charging', query: { charging: true } },
    { key: 'battery', count: devicesLowOnBattery, words: 'with a battery below 20 %', query: { batteryBelow: 20 } },
  ].filter(each => each.count > 0)
}

function percent(count, all) {
  if (all === 0) return ''
  const share = 100 * count / all
  return count > 0 && share < 1 ? '< 1 %' : `${Math.round(share)} %`
}

function writeCharts({ points }, { interval }, range, jumps) {
  say($('rate-unit'), units[interval])
  legend($('rate-legend'), services, points, service => to('feed', { service, ...range, echoes: 'shown' }))
  chart.show(points, interval, jumps)
  legend($('pushes-legend'), outcomes, points, outcome => to('feed', { service: 'push', label: statusesOf(outcome), ...range }))
  pushes.show(points, interval, jumps)
}

function writeReasons(stats, range) {
  const sum = items => items.reduce((all, each) => all + each.count, 0)
  const reasons = (items, type) => items.map(each => ({
    key: each.reason, label: word(each.reason), count: each.count, href: to('feed', { type, label: each.reason, ...range }) }))
  const types = { woken: 'lifecycle.app.woken', refused: 'lifecycle.wake.refused', ended: 'lifecycle.app.terminated' }
  total($('woken-total'), sum(stats.woken), to('feed', { type: types.woken, ...range }))
  total($('refused-total'), sum(stats.refused), to('feed', { type: types.refused, ...range }))
  total($('ended-total'), sum(stats.ended), to('feed', { type: types.ended, ...range }))
  bars($('woken'), reasons(stats.woken, types.woken), 'No app was woken.')
  bars($('refused'), reasons(stats.refused, types.refused), 'No wake was refused.')
  bars($('ended'), stats.ended.map(each => ({
    key: `${each.reason} ${each.code ?? ''}`, label: word(each.reason), note: each.code, count: each.count,
    href: to('feed', { type: types.ended, label: each.code ? `${each.reason} ${each.code}` : each.reason, ...range }),
  })), 'No app ended.')
  bars($('notifications'), stats.notifications.map(each => ({
    key: each.status, label: each.status, count: each.count, href: to('feed', { service: 'push', label: each.status, ...range }) })), 'No notification was sent.')
  spark($('woken-spark'), stats.points.map(point => point.woken), 'Wakes granted over the window')
  spark($('refused-spark'), stats.points.map(point => point.refused), 'Wakes refused over the window')
  spark($('ended-spark'), stats.points.map(point => point.killed), 'App terminations over the window')
}

function total(link, count, href) {
  say(link, number(count))
  link.setAttribute('href', href)
}

function writeTransfers({ points, transfers }, range) {
  say($('bytes-received'), bytes(transfers.bytesReceived))
  say($('bytes-sent'), bytes(transfers.bytesSent))
  total($('tasks-completed'), transfers.completed, to('transfers', { state: 'completed', ...range }))
  total($('tasks-failed'), transfers.failed, to('transfers', { state: 'failed', ...range }))
  spark($('bytes-spark'), points.map(point => point.bytes), 'Bytes moved over the window')
}
