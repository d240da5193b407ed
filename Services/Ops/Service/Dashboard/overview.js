// The numbers of the overview.

import { get, path } from './api.js'
import { $, bars, h, keyed, say, share } from './dom.js'
import { Chart, legend, spark } from './chart.js'
import { bytes, number, outcomes, plural, services, span, states, word } from './words.js'

// `ops` stores counts of minutes, hours and days, so every window is a cheap query.
const windows = {
  hour: { interval: 60, points: 60, unit: 'a minute', caption: 'events in the last hour' },
  day: { interval: 3600, points: 24, unit: 'an hour', caption: 'events in the last 24 hours' },
  month: { interval: 86_400, points: 30, unit: 'a day', caption: 'events in the last 30 days' },
}

const chart = new Chart($('rate'), $('rate-readout'), { series: services, things: 'events', height: 200 })
const pushes = new Chart($('pushes'), $('pushes-readout'), { series: outcomes, things: 'pushes', height: 130 })
/** A consumer is marked as behind if its oldest unread event is older than this, in milliseconds. */
const patience = 5000

/** Requests the numbers, and shows each when it arrives. `now` is the suite time in milliseconds. */
export async function refreshNumbers(now, signal) {
  const shown = windows[$('window').value]
  const { interval } = shown
  const since = new Date(now - (shown.points - 1) * interval * 1000).toISOString()
  await Promise.all([
    get(path('v1/stats', { interval, since }), signal).then(stats => {
      writeNow(stats, shown)
      writeCharts(stats, shown)
      writeReasons(stats)
      writeTransfers(stats)
    }),
    get('v1/consumers', signal).then(consumers => writeConsumers(consumers.items)),
  ])
}

function writeNow(stats, { caption }) {
  const apps = [...stats.now.apps].sort((a, b) => states.indexOf(a.state) - states.indexOf(b.state))
  const { devices, devicesOff } = stats.now
  say($('devices-count'), number(devices))
  say($('devices-caption'), `${devices === 1 ? 'device' : 'devices'}${devicesOff > 0 ? `, ${number(devicesOff)} turned off` : ''}`)
  say($('apps-count'), number(apps.reduce((sum, each) => sum + each.count, 0)))
  say($('events-count'), number(stats.events))
  say($('events-caption'), caption)
  say($('counted'), stats.lag > 0 ? `${plural(stats.lag, 'event', 'events')} not counted yet` : 'all events counted')
  share($('states-bar'), apps.map(each => ({ key: each.state, kind: `is-${each.state}`, count: each.count })))
  const sum = apps.reduce((all, each) => all + each.count, 0)
  const shown = states.map(state => ({ state, count: apps.find(each => each.state === state)?.count ?? 0 }))
  keyed($('states'), shown, each => each.state,
    each => h('li', {}, h('span', { class: `dot is-${each.state}`, 'aria-hidden': 'true' }), h('span', {}, word(each.state)), h('strong'), h('span', { class: 'muted' })),
    (element, each) => {
      say(element.children[2], number(each.count))
      say(element.children[3], percent(each.count, sum))
    })
}

function percent(count, all) {
  if (all === 0) return ''
  const share = 100 * count / all
  return count > 0 && share < 1 ? '< 1 %' : `${Math.round(share)} %`
}

function writeCharts({ points }, { interval, unit }) {
  say($('rate-unit'), unit)
  legend($('rate-legend'), services, points)
  chart.show(points, interval)
  legend($('pushes-legend'), outcomes, points)
  pushes.show(points, interval)
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
  spark($('ended-spark'), stats.points.map(point => point.killed), 'App terminations over the window')
}

function writeTransfers({ points, transfers }) {
  say($('bytes-received'), bytes(transfers.bytesReceived))
  say($('bytes-sent'), bytes(transfers.bytesSent))
  say($('tasks-completed'), number(transfers.completed))
  say($('tasks-failed'), number(transfers.failed))
  spark($('bytes-spark'), points.map(point => point.bytes), 'Bytes moved over the window')
}

function writeConsumers(consumers) {
  keyed($('consumers'), consumers, each => each.name,
    each => h('tr', {}, h('th', { scope: 'row' }, each.name), h('td', { class: 'number' }), h('td')),
    (row, each) => {
      const behind = each.partitions.filter(partition => partition.lag > 0).length
      const unowned = each.partitions.filter(partition => !partition.owner).length
      // Append times are real time. A short wait is normal.
      const waiting = each.waitingSince === null ? 0 : Date.now() - Date.parse(each.waitingSince)
      row.className = waiting > patience ? 'is-behind' : ''
      say(row.children[1], number(each.lag))
      say(row.children[2], each.waitingSince === null ? (unowned > 0 ? `up to date; ${unowned} of ${each.partitions.length} partitions have no owner` : 'up to date')
        : `${span(waiting)}, behind in ${behind} of ${each.partitions.length} partitions`)
    })
}
